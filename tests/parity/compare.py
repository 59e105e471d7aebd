"""`lockstep bench compare` with PyTorch beside it: compare.py LOCKSTEP"""
import json
import subprocess
import sys

result = subprocess.run([sys.argv[1], "bench", "compare", "--models", "mnist:4", "--variants", "eager,channels-last",
                         "--rounds", "2", "--seconds", "0.05", "--python", sys.executable, "--json"],
                        capture_output=True, text=True, timeout=240)
assert result.returncode == 0, result.stderr
row, = json.loads(result.stdout)["rows"]
sides = {(side["name"], side["tuned"]): side for side in row["pytorch"]}
best = max((side for side in row["pytorch"] if not side["tuned"]), key=lambda side: side["samples_per_second"])
assert {name for name, tuned in sides if not tuned} == {"eager", "channels-last"}, sides.keys()
assert sum(tuned for _, tuned in sides) == 1, sides.keys()
for side in [row["lockstep"], *row["pytorch"]]:
    assert "failure" not in side, side
    assert len(side["rounds"]) == 2 and min(side["rounds"]) > 0, side
    assert side["peak_memory"] > 10_000_000, side
ratios = sorted(ours / theirs for ours, theirs in zip(row["lockstep"]["rounds"], best["rounds"]))
assert abs(row["over_best"]["least"] - ratios[0]) < 1e-9 * ratios[0], (row["over_best"], ratios)
print("PyTorch took part: ", ", ".join(f"{name}{' tuned' if tuned else ''}" for name, tuned in sides))
