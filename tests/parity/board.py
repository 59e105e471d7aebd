"""A TensorBoard server on loopback."""
import json
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

DEADLINE = 60  # seconds, for each thing that is waited for


class Board:
    """Serves `folder` until the end of the with block."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        # The fast loader is a process of its own, which would outlive a server that is killed.
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", self.folder, "--host", "127.0.0.1",
                   "--port", "0", "--load_fast", "false", "--reload_interval", "1", "--samples_per_plugin",
                   "scalars=1000,images=100,text=100"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said, self.address = [], None
        threading.Thread(target=self._listen, daemon=True).start()
        wait_for("TensorBoard's address", lambda: self.address, lambda: "".join(self.said))
        return self

    def _listen(self):
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/", line):
                self.address = found[0]

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def get(self, route, **query):
        """What the route answers: its bytes."""
        address = f"{self.address}data/{route}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=DEADLINE) as answer:
            return answer.read()

    def ask(self, route, **query):
        return json.loads(self.get(route, **query))

    def post(self, route, content):
        request = urllib.request.Request(f"{self.address}data/{route}", json.dumps(content).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return json.loads(answer.read())


def wait_for(what, condition, explain=lambda: ""):
    """The first true value of `condition`."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.1)
    raise TimeoutError(f"{what}: not within {DEADLINE} s. {explain()}")
