"""Two language models of the `transformers` library, built from a config with random weights."""

from torch import nn


def bert() -> nn.Module:
    """BertModel in the size of bert-base: 12 layers, 110 M parameters."""
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig())


def llama() -> nn.Module:
    """LlamaForCausalLM with two layers."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=1000,
            hidden_size=256,
            intermediate_size=688,
            num_hidden_layers=2,
            num_attention_heads=8,
            num_key_value_heads=4,
        )
    )
