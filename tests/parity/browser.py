"""Chromium without a window, told what to do through a pipe (the DevTools protocol)."""
import base64
import io
import json
import os
import select
import signal
import subprocess
import tempfile
import time

import numpy
import PIL.Image

DEADLINE = 60  # seconds, for each thing that is waited for

# The middle of the first element that is seen and has this text, also in shadow trees, as [x, y]; null: there is none.
FIND = """(text => {
  const found = [];
  const look = root => root.querySelectorAll("*").forEach(element => {
    if (element.shadowRoot) look(element.shadowRoot);
    const own = [...element.childNodes].filter(node => node.nodeType === Node.TEXT_NODE).map(node => node.data);
    const box = element.getBoundingClientRect();
    if (own.join("").trim() === text && box.width > 0) found.push([box.x + box.width / 2, box.y + box.height / 2]);
  });
  look(document);
  return found.length > 0 ? found[0] : null;
})"""


class BrowserError(Exception):
    """The browser cannot do what it was told."""


class Browser:
    """A browser with one page, until the end of the with block."""

    def __init__(self, size=(1280, 800)):
        self.size = size

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        # Chromium reads from descriptor 3 and writes to 4.
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                   "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}",
                   f"--window-size={self.size[0]},{self.size[1]}"]
        shell = ["sh", "-c", f'exec 3<&{orders} 4>&{answers}; exec "$@"', "chromium", *command]
        self.process = subprocess.Popen(shell, pass_fds=(orders, answers), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(orders)
        os.close(answers)
        self.number, self.received, self.session = 0, b"", None
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.tell("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1], deviceScaleFactor=1,
                  mobile=False)
        return self

    def __exit__(self, *_):
        # With the group that it leads end all of the browser's processes.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.orders)
        os.close(self.answers)
        self.profile.cleanup()

    def tell(self, method, **parameters):
        """Does it, and returns the result."""
        self.number += 1
        order = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.orders, json.dumps(order).encode() + b"\0")
        end = time.monotonic() + DEADLINE
        while True:
            while b"\0" in self.received:
                message, self.received = self.received.split(b"\0", 1)
                answer = json.loads(message)
                if answer.get("id") == self.number:
                    if "error" in answer:
                        raise BrowserError(f"{method}: {answer['error']}")
                    return answer["result"]
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"the browser did not answer to {method} within {DEADLINE} s")
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.received += piece

    def open(self, address):
        self.tell("Page.navigate", url=address)

    def double_click(self, text):
        """On the element with this text, when it is there."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            found = self.tell("Runtime.evaluate", expression=f"{FIND}({json.dumps(text)})", returnByValue=True)
            if place := found["result"].get("value"):
                break
            time.sleep(0.2)
        else:
            raise TimeoutError(f"nothing on the page says '{text}'")
        for count in (1, 2):
            for event in ("mousePressed", "mouseReleased"):
                self.tell("Input.dispatchMouseEvent", type=event, x=place[0], y=place[1], button="left",
                          clickCount=count)

    def pixels(self):
        """Nothing while one page gives way to another."""
        try:
            png = base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"])
        except BrowserError:
            return None
        return numpy.asarray(PIL.Image.open(io.BytesIO(png)).convert("RGB"))

    def settled(self, is_shown):
        """The page's pixels, when `is_shown` says that they are what is waited for and they have stopped changing."""
        end, before = time.monotonic() + DEADLINE, None
        while time.monotonic() < end:
            now = self.pixels()
            if now is not None and before is not None and (now == before).all() and is_shown(now):
                return now
            before = now
            time.sleep(0.5)
        raise TimeoutError("the page does not show what it should")
