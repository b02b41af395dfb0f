"""Compiles one file that must not compile and checks what the compiler says.

The file names the message in a comment, "// EXPECT: <regular expression>". There must be exactly one line with "error:"
and the message must be in it: a type that cannot be stored is explained once, without a cascade.

Usage: check.py FILE COMPILER [ARGUMENT ...]
"""

import re
import subprocess
import sys
from pathlib import Path


def complaints(expected: str, status: int, output: str) -> list[str]:
    """Return what is wrong with a compiler's answer; empty if it is as expected."""
    errors = [line for line in output.splitlines() if re.search(r"\b(fatal )?error:", line)]
    found = []
    if status == 0:
        found.append("the file compiles, but it must not")
    if len(errors) != 1:
        found.append(f"{len(errors)} errors where one is expected")
    if not any(re.search(expected, error) for error in errors):
        found.append(f"no error matches {expected!r}")
    return found


def main() -> int:
    """Check the file and print the compiler's output if it is not as expected."""
    source, *command = sys.argv[1:]
    expectation = re.search(r"^// EXPECT: (.+)$", Path(source).read_text(encoding="utf-8"), re.MULTILINE)
    if expectation is None:
        print(f"{source}: no comment '// EXPECT: <regular expression>'")
        return 1
    done = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True, check=False)
    found = complaints(expectation.group(1), done.returncode, done.stderr)
    for complaint in found:
        print(f"{source}: {complaint}")
    if found:
        print(done.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
