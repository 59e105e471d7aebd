"""Makes the small pictures that the decoder is tested with: make_pictures.py [FOLDER]

The files are committed; run it again only to add a kind. Needs Pillow and numpy, and cjpeg and jpegtran of
libjpeg-turbo for what Pillow does not write."""
import io
import os
import struct
import subprocess
import sys
import zlib

import numpy
from PIL import Image

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
WIDTH, HEIGHT = 61, 47  # no multiple of any block


def write(name, content):
    path = os.path.join(FOLDER, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return content


def encoded(image, form, **options):
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def tool(*command, given):
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def colors(width=WIDTH, height=HEIGHT, bits=8, channels=3):
    """Waves of another length in each channel, with edges that show where interpolation goes wrong."""
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [0.5 + 0.5 * numpy.sin(x / (3 + 2 * c) + c) * numpy.cos(y / (4 + c)) for c in range(channels)]
    values = numpy.stack(planes, axis=2)
    values[height // 3 : height // 2, width // 4 : width // 2] = numpy.linspace(1, 0, channels)
    return (values * (2**bits - 1)).astype(numpy.uint16 if bits > 8 else numpy.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(bits, kind, rows, *between):
    """A PNG of a form that Pillow does not write; `rows` are packed already."""
    header = struct.pack(">IIBBBBB", WIDTH, len(rows), bits, kind, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(between) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def packed(values, bits):
    """Rows of values below 2 ** bits, several in a byte."""
    each = 8 // bits
    padded = numpy.pad(values, ((0, 0), (0, -values.shape[1] % each)))
    shifts = numpy.arange(each)[::-1] * bits
    return [bytes((row.reshape(-1, each) << shifts).sum(axis=1).astype(numpy.uint8)) for row in padded]


def interlaced(pixels):
    """Adam7 of an RGB picture."""
    data = b""
    for x, y, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]:
        for row in pixels[y::dy, x::dx]:
            data += b"\0" + row.tobytes()
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 1)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")
    )


def make_jpegs():
    image = Image.fromarray(colors())
    gray = image.convert("L")
    base = write("good/420.jpg", encoded(image, "JPEG", quality=92, subsampling=2))
    write("good/422.jpg", encoded(image, "JPEG", quality=92, subsampling=1))
    write("good/444.jpg", encoded(image, "JPEG", quality=92, subsampling=0))
    write("good/rgb.jpg", encoded(image, "JPEG", quality=92, keep_rgb=True))
    write("good/gray.jpg", encoded(gray, "JPEG", quality=92))
    write("good/restart.jpg", encoded(image, "JPEG", quality=92, subsampling=2, restart_marker_blocks=3))
    write("good/progressive.jpg", encoded(image, "JPEG", quality=92, subsampling=2, progressive=True))
    write("good/progressive_gray.jpg", encoded(gray, "JPEG", quality=92, progressive=True))
    write("good/one_pixel.jpg", encoded(image.crop((9, 9, 10, 10)), "JPEG"))
    write("good/trailing_bytes.jpg", base + b"bytes that a camera puts behind a picture")
    ppm = encoded(image, "PPM")
    write("good/440.jpg", tool("cjpeg", "-quality", "92", "-sample", "1x2", given=ppm))
    write("good/411.jpg", tool("cjpeg", "-quality", "92", "-sample", "4x1", given=ppm))
    write("good/410.jpg", tool("cjpeg", "-quality", "92", "-sample", "4x2", given=ppm))
    write("good/arithmetic.jpg", tool("jpegtran", "-arithmetic", given=base))
    write("good/arithmetic_progressive.jpg", tool("jpegtran", "-arithmetic", "-progressive", given=base))

    cmyk = write("good/cmyk.jpg", encoded(Image.fromarray(colors(channels=4), "CMYK"), "JPEG", quality=92))
    # The last byte of Adobe's marker says whether the colors are CMYK or YCCK.
    place = cmyk.index(b"Adobe") + 11
    write("good/ycck.jpg", cmyk[:place] + b"\2" + cmyk[place + 1 :])
    return base


def make_turned():
    """One picture, stored in the eight ways of EXIF; its sides are whole blocks, so no copy loses anything."""
    upright = Image.fromarray(colors(64, 48))
    small = Image.fromarray(colors(16, 12))
    straight = encoded(upright, "JPEG", quality=95, subsampling=0)
    # What brings the upright picture into the form that each value stands for.
    turn = Image.Transpose
    ways = [(None, []), (turn.FLIP_LEFT_RIGHT, ["-flip", "horizontal"]), (turn.ROTATE_180, ["-rotate", "180"]),
            (turn.FLIP_TOP_BOTTOM, ["-flip", "vertical"]), (turn.TRANSPOSE, ["-transpose"]),
            (turn.ROTATE_90, ["-rotate", "270"]), (turn.TRANSVERSE, ["-transverse"]),
            (turn.ROTATE_270, ["-rotate", "90"])]
    for value, (way, options) in enumerate(ways, 1):
        exif = Image.Exif()
        exif[0x0112] = value
        write(f"good/exif_{value}.png", encoded(small if way is None else small.transpose(way), "PNG", exif=exif))
        stored = tool("jpegtran", *options, given=straight)
        block = b"Exif\0\0" + exif.tobytes()[6:]
        write(f"good/exif_{value}.jpg", stored[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + stored[2:])


def make_pngs():
    image = Image.fromarray(colors())
    gray = numpy.array(image.convert("L"))
    rgb = write("good/rgb.png", encoded(image, "PNG"))
    write("good/interlaced.png", interlaced(colors()))
    write("good/rgba.png", encoded(Image.fromarray(colors(channels=4), "RGBA"), "PNG"))
    write("good/gray.png", encoded(Image.fromarray(gray), "PNG"))
    write("good/gray_alpha.png", encoded(Image.fromarray(colors(channels=2), "LA"), "PNG"))
    for bits in [1, 2, 4]:
        write(f"good/gray_{bits}.png", png(bits, 0, packed(gray >> (8 - bits), bits)))
        palette = bytes(numpy.random.default_rng(bits).integers(0, 256, 3 * 2**bits, numpy.uint8))
        write(f"good/palette_{bits}.png", png(bits, 3, packed(gray >> (8 - bits), bits), chunk(b"PLTE", palette)))
    write("good/palette.png", encoded(image.quantize(200), "PNG"))
    write("good/palette_transparent.png", encoded(image.quantize(50), "PNG", transparency=bytes(range(50))))
    write("good/gray_transparent.png", encoded(Image.fromarray(gray), "PNG", transparency=int(gray[5, 5])))
    for name, kind, channels in [("gray_16", 0, 1), ("rgb_16", 2, 3), ("gray_alpha_16", 4, 2), ("rgba_16", 6, 4)]:
        rows = [row.astype(">u2").tobytes() for row in colors(bits=16, channels=channels)]
        write(f"good/{name}.png", png(16, kind, rows))
    return rgb


def make_broken(jpeg, whole_png):
    write("broken/empty.jpg", b"")
    write("broken/zeros.jpg", bytes(200))
    write("broken/page.jpg", b"\n<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n")
    write("broken/noise.jpg", bytes(numpy.random.default_rng(1).integers(0, 256, 64, numpy.uint8)))
    write("broken/gif.jpg", encoded(Image.new("L", (4, 4)), "GIF"))
    write("broken/webp.png", encoded(Image.new("RGB", (4, 4)), "WEBP"))
    write("broken/truncated.jpg", jpeg[: len(jpeg) * 2 // 3])
    write("broken/no_end.jpg", jpeg[:-2])
    write("broken/truncated.png", whole_png[: len(whole_png) * 2 // 3])
    write("broken/no_end.png", whole_png[:-12])
    for name, place in [("damaged", len(whole_png) // 2), ("checksum", len(whole_png) - 13)]:
        damaged = bytearray(whole_png)
        damaged[place] ^= 1
        write(f"broken/{name}.png", bytes(damaged))

    # A chunk that claims 1.6 GB, which must not be taken on its word.
    claim = struct.pack(">I", 0x62000000) + b"eXIf" + b"MM\0*"
    write("broken/huge_chunk.png", whole_png[:33] + claim + whole_png[33:200])

    size = jpeg.index(b"\xff\xc0") + 5
    write("broken/bomb.jpg", jpeg[:size] + struct.pack(">HH", 60000, 60000) + jpeg[size + 4 :])
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(100000), 9)
    write("broken/bomb.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b""))
    progressive = encoded(Image.new("L", (8, 8), 77), "JPEG", progressive=True)
    scan = progressive.rindex(b"\xff\xda")
    write("broken/scans.jpg", progressive[:scan] + progressive[scan:-2] * 2000 + b"\xff\xd9")
    precision = jpeg.index(b"\xff\xc0") + 4
    write("broken/twelve_bits.jpg", jpeg[:precision] + b"\x0c" + jpeg[precision + 1 :])


base_jpeg = make_jpegs()
make_turned()
make_broken(base_jpeg, make_pngs())
