"""The real vLLM understands the options of `vllm bench serve` in docs/howto/gpu-80gb.md."""

import json
import re
import shlex
import subprocess

import pytest

from tests.places import ROOT
from tests.serve.vllm.served import vllm_python

pytestmark = pytest.mark.vllm

PAGE = ROOT / "docs/howto/gpu-80gb.md"
PARSE = """
import json, sys
from vllm.benchmarks.serve import add_cli_args
from vllm.utils.argparse_utils import FlexibleArgumentParser
parser = FlexibleArgumentParser()
add_cli_args(parser)
options = parser.parse_args(json.loads(sys.argv[1]))
print("\\n" + options.dataset_name, options.max_concurrency, options.result_filename)
"""


def test_the_options_of_the_page_are_understood() -> None:
    (command,) = re.findall(r"vllm bench serve (.*?)\ndone", PAGE.read_text("utf-8"), re.DOTALL)
    options = shlex.split(command.replace("\\\n", " ").replace("$n", "4"))
    done = subprocess.run(
        [vllm_python(), "-c", PARSE, json.dumps(options)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "custom 4 plain-4.json"
