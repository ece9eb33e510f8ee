"""Where tests of the analysis find files: the project's, R's answers, and what lies beside them."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "data" / "published"
R = ROOT / "tests" / "r"
#: A paper of claims about four invented models, audited from a folder.
SECOND = ROOT / "tests" / "analysis" / "second_paper"
#: The paper's text and its raw result files, where they are.
SHARED = ROOT.parent / "shared"
