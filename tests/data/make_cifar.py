#!/usr/bin/env python3
"""Writes small files in the forms in which CIFAR-10 and CIFAR-100 are given out, from pictures of 32 x 32 pixels:

    make_cifar.py OUT PICTURE...      (nine pictures or more; needs numpy and Pillow)

The originals were written by Python 2's cPickle, protocol 2, with the numpy of 2009. No Python of today writes that:
strings are SHORT_BINSTRING and BINSTRING, the memory is counted from 1, arrays name numpy.core.multiarray. So these
pickles are put together instruction by instruction here, and read back by Python's own pickle for proof. Beside them
lie batches as today's Python and numpy write them, in all protocols.
"""
import pathlib
import pickle
import struct
import sys

import numpy as np
from PIL import Image


class Python2Pickler:
    """cPickle.dump(value, file, 2) of Python 2 for what CIFAR's files hold."""

    def __init__(self):
        self.out = bytearray(b"\x80\x02")
        self.memory = 0

    def put(self):
        self.memory += 1
        if self.memory < 256:
            self.out += b"q" + bytes([self.memory])
        else:
            self.out += b"r" + struct.pack("<I", self.memory)

    def integer(self, value):
        if 0 <= value < 256:
            self.out += b"K" + bytes([value])
        elif 0 <= value < 65536:
            self.out += b"M" + struct.pack("<H", value)
        else:
            self.out += b"J" + struct.pack("<i", value)

    def string(self, value):
        if len(value) < 256:
            self.out += b"U" + bytes([len(value)]) + value
        else:
            self.out += b"T" + struct.pack("<i", len(value)) + value
        self.put()

    def name(self, module, name):
        self.out += b"c" + module + b"\n" + name + b"\n"
        self.put()

    def array(self, value):
        self.name(b"numpy.core.multiarray", b"_reconstruct")
        self.name(b"numpy", b"ndarray")
        self.integer(0)
        self.out += b"\x85"
        self.put()
        self.string(b"b")
        self.out += b"\x87"
        self.put()
        self.out += b"R"
        self.put()
        self.out += b"("
        self.integer(1)
        for size in value.shape:
            self.integer(size)
        self.out += b"\x86"
        self.put()
        self.name(b"numpy", b"dtype")
        self.string(b"u1")
        self.integer(0)
        self.integer(1)
        self.out += b"\x87"
        self.put()
        self.out += b"R"
        self.put()
        self.out += b"("
        self.integer(3)
        self.string(b"|")
        self.out += b"NNN"
        self.integer(-1)
        self.integer(-1)
        self.integer(0)
        self.out += b"t"
        self.put()
        self.out += b"b\x89"
        self.string(value.tobytes())
        self.out += b"t"
        self.put()
        self.out += b"b"

    def list(self, values):
        self.out += b"]"
        self.put()
        for start in range(0, len(values), 1000):
            group = values[start:start + 1000]
            self.out += b"(" if len(group) > 1 else b""
            for value in group:
                self.value(value)
            self.out += b"e" if len(group) > 1 else b"a"

    def value(self, value):
        if isinstance(value, bytes):
            self.string(value)
        elif isinstance(value, int):
            self.integer(value)
        elif isinstance(value, list):
            self.list(value)
        else:
            self.array(value)

    def dictionary(self, value):
        self.out += b"}"
        self.put()
        self.out += b"("
        for key, each in value.items():
            self.string(key)
            self.value(each)
        self.out += b"u."
        return bytes(self.out)


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_pickle(path, value):
    content = Python2Pickler().dictionary(value)
    assert same(pickle.loads(content, encoding="bytes"), value), path
    write(path, content)


def write_modern(folder, value):
    for protocol in (2, 3, 4, 5):
        write(folder / f"bytes_keys_protocol_{protocol}", pickle.dumps(value, protocol))
        text = {key.decode(): each for key, each in value.items()}
        write(folder / f"text_keys_protocol_{protocol}", pickle.dumps(text, protocol))


def main():
    out = pathlib.Path(sys.argv[1])
    # N x 3072: a plane of red, one of green, one of blue.
    pictures = np.stack([np.asarray(Image.open(p).convert("RGB")).transpose(2, 0, 1).reshape(-1) for p in sys.argv[2:]])
    names = [pathlib.Path(p).name.encode() for p in sys.argv[2:]]

    classes = [f"class{i}".encode() for i in range(10)]
    write_pickle(out / "cifar-10-batches-py/batches.meta",
                 {b"num_cases_per_batch": 1, b"label_names": classes, b"num_vis": 3072})
    write(out / "cifar-10-batches-bin/batches.meta.txt", b"\n".join(classes) + b"\n\n")
    batches = [(f"data_batch_{i + 1}", b"training batch %d of 5" % (i + 1)) for i in range(5)]
    for i, (file, label) in enumerate(batches + [("test_batch", b"testing batch 1 of 1")]):
        batch = {b"batch_label": label, b"labels": [(3 * i) % 10], b"data": pictures[i:i + 1], b"filenames": [names[i]]}
        write_pickle(out / "cifar-10-batches-py" / file, batch)
        write(out / "cifar-10-batches-bin" / f"{file}.bin", bytes(batch[b"labels"]) + pictures[i].tobytes())
    write_modern(out / "modern", batch)

    fine, coarse = [b"fine%d" % i for i in range(100)], [b"coarse%d" % i for i in range(20)]
    write_pickle(out / "cifar-100-python/meta", {b"fine_label_names": fine, b"coarse_label_names": coarse})
    write(out / "cifar-100-binary/fine_label_names.txt", b"\n".join(fine) + b"\n")
    write(out / "cifar-100-binary/coarse_label_names.txt", b"\n".join(coarse) + b"\n")
    for file, label, part in (("train", b"training batch 1 of 1", slice(6, 8)), ("test", b"testing batch 1 of 1", slice(8, 9))):
        indices = range(len(pictures))[part]
        batch = {b"filenames": names[part], b"batch_label": label, b"fine_labels": [99 - i for i in indices],
                 b"coarse_labels": [19 - i for i in indices], b"data": pictures[part]}
        write_pickle(out / "cifar-100-python" / file, batch)
        records = [bytes([19 - i, 99 - i]) + pictures[i].tobytes() for i in indices]
        write(out / "cifar-100-binary" / f"{file}.bin", b"".join(records))


main()
