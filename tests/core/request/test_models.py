"""Lists of models: their lines, their options, and what is wrong with them."""

from __future__ import annotations

from torchrecorder.request import Body
from torchrecorder.request.models import USUAL_COLUMNS, ModelList, read_list


def models(text: str, **options: str) -> ModelList:
    return ModelList.of(read_list(text.split("\n"), options))


def faults(text: str, **options: str) -> list[str]:
    return [fault for listed in models(text, **options).models if (fault := listed.body.fault)]


def test_a_model_in_each_line_has_options_of_its_own() -> None:
    listed = models(':shape: 1,3,32,32\n\npkg.Net\n\npkg.Net(width=8, depth=2) shape="1,3; 1,8" depth=3\n')
    assert [each.body for each in listed.models] == [
        Body("pkg.Net", {"shape": "1,3,32,32"}),
        Body("pkg.Net(width=8, depth=2)", {"shape": "1,3; 1,8", "depth": "3"}),
    ]
    assert (listed.columns, listed.is_grid) == (USUAL_COLUMNS, False)


def test_values_go_on_after_a_comma_as_in_the_field_of_a_docstring() -> None:
    (listed,) = models("pkg.Net shape=1,3; ids=int64[1,16]<100 depth=3 fold=a,  'b c'").models
    assert listed.body == Body("pkg.Net", {"shape": "1,3; ids=int64[1,16]<100", "depth": "3", "fold": "a,  'b c'"})


def test_titles_and_tags_are_of_the_list_and_no_options_of_diagrams() -> None:
    (listed,) = models('pkg.Net title="A net" tags="small, of two layers" shape=1,3').models
    assert (listed.title, listed.tags) == ("A net", ("small", "of two layers"))
    assert listed.body.options == {"shape": "1,3"}


def test_columns_and_form() -> None:
    listed = models("pkg.Net", columns="name, flops parameters name", **{"as": "grid"})
    assert (listed.columns, listed.is_grid) == (("name", "flops", "parameters"), True)


def test_all_that_is_wrong_is_said_at_once() -> None:
    assert faults(":colums: name\n:as: lst\n:columns: name paramters") == [
        "columns: unknown column 'paramters', did you mean parameters?",
        "unknown option 'colums', did you mean columns?",
        "as: 'lst' is neither table nor grid",
        "no model is named: write one in each line, as in `pkg.Net shape=1,3,64,64`",
    ]


def test_what_is_wrong_with_a_line_is_of_its_model() -> None:
    (listed,) = models("pkg.Net depth=1 depth=2 more").models
    said = ("depth is given twice", "cannot read 'more': the model is pkg.Net, and an option is written `depth=2`")
    assert listed.body.problems == said
