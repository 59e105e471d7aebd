"""Compares decoded pictures with Pillow's, pixel by pixel: decode.py CPP_PROGRAM PICTURES_FOLDER.

All must be equal. Where Pillow itself is not right, what is expected is made from its pixels as the file holds them."""
import os
import subprocess
import sys
import tempfile

import numpy
from PIL import Image, ImageOps

program, source = sys.argv[1:]
failures = compared = 0


def opened(path, shrink, mode):
    image = Image.open(path)
    if image.format == "JPEG":
        # Gray is the luma that the file holds, and a smaller picture is what libjpeg makes of fewer coefficients.
        image.draft(mode, (max(1, image.width // shrink), max(1, image.height // shrink)))
    return image


def expected(path, shrink, mode):
    image = opened(path, shrink, mode)
    if image.mode == "I;16":
        # Pillow turns all that is brighter than 255 of 65,535 into white.
        image = Image.fromarray((numpy.array(image) >> 8).astype(numpy.uint8))
    if image.mode == "CMYK":
        image = image.convert("RGB")
    return numpy.array(ImageOps.exif_transpose(image.convert("RGB") if mode == "RGB" else image.convert("L")))


with tempfile.TemporaryDirectory() as folder:
    names = sorted(os.listdir(source))
    subprocess.run([program, folder, *(os.path.join(source, name) for name in names)], check=True)
    for name in names:
        for shrink in [1, 2, 4, 8]:
            if name.startswith("one_pixel") and shrink > 1:
                continue  # Pillow shrinks no picture to less than a pixel, and so not this one
            for channels, mode in [(1, "L"), (3, "RGB")]:
                found = numpy.array(Image.open(os.path.join(folder, f"{name}.{shrink}.{channels}")))
                wanted = expected(os.path.join(source, name), shrink, mode)
                compared += 1
                if found.shape != wanted.shape:
                    what = f"has the shape {found.shape}, in Pillow {wanted.shape}"
                elif (found != wanted).any():
                    difference = numpy.abs(found.astype(int) - wanted.astype(int))
                    what = f"differs in {(difference > 0).mean():.1%} of its values, by {difference.max()} at most"
                else:
                    continue
                failures += 1
                print(f"{name} at 1/{shrink} as {mode}: {what}", file=sys.stderr)

print(f"{compared} decoded pictures compared with Pillow's: {failures} differences")
sys.exit(failures != 0 or compared == 0)
