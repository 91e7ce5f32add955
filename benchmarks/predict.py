"""What a prediction costs: seconds and the process's largest resident memory, each model in a fresh process.

python -m benchmarks.predict [MODEL ...]: asked are 1.5 s for 7B, 4 s for 70B, below 1 GiB.
"""

import argparse
import json
import subprocess
import sys

MODELS = ("GPT-2", "Llama-2-7B", "Llama-3-8B", "Mixtral-8x7B", "Llama-2-70B")
ONE = """
import json, resource, sys, torch
torch.set_num_threads(2)
from helpers.measure import predict_step
done = [predict_step(sys.argv[1], seq=min(4096, int(sys.argv[2]))) for _ in range(2)]
kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"first": done[0].seconds, "again": done[1].seconds, "events": len(done[0].trace), "rss": kib / 2**20,
                  "peak": done[0].peak.nbytes / 2**30, "where": done[0].where[0]}))
"""


def measure(model: str, tokens: int = 4096) -> dict:
    """One model in a process of its own: seconds of the first and of a second prediction, events, GiB resident, the peak."""
    command = [sys.executable, "-c", ONE, model, str(1024 if model.startswith("GPT-2") else tokens)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    models = parser.parse_args().models
    print(f"{'model':<14}{'first':>8}{'again':>8}{'events':>9}{'RSS':>10}{'peak':>13}  in")
    for model in models:
        m = measure(model)
        seconds = f"{m['first']:7.2f}s{m['again']:7.2f}s"
        print(
            f"{model:<14}{seconds}{m['events']:>9,}{m['rss']:>6.2f} GiB{m['peak']:>9.1f} GiB  {m['where']}", flush=True
        )


if __name__ == "__main__":
    main()
