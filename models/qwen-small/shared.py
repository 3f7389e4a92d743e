"""Makes glm-small's modules importable: data, tokens, optimiser and GGUF files are the same in both recipes."""

import sys
from pathlib import Path

GLM = Path(__file__).resolve().parent.parent / "glm-small"
if str(GLM) not in sys.path:
    sys.path.append(str(GLM))
