"""Python code that is read and never run, for the examples in it."""

from torchrecorder.recording.written.reader import Reader as Reader
from torchrecorder.recording.written.reader import prompted as prompted
from torchrecorder.recording.written.values import Call as Call
from torchrecorder.recording.written.values import Example as Example
from torchrecorder.recording.written.values import call_text as call_text
from torchrecorder.recording.written.values import is_given as is_given
from torchrecorder.recording.written.values import is_read as is_read
from torchrecorder.recording.written.values import made as made
