"""Compares what SummaryWriter writes with what tensorboardX writes for the same input, as TensorBoard reads both:
summary_writer.py CPP_PROGRAM [--pictures FOLDER]. With a folder, the screenshots are kept there."""
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import urllib.parse

import numpy
import onnx
import PIL.Image
import soundfile
import tensorboardX
import torch
import torchvision
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from torch.utils.tensorboard import summary as torch_summary

from board import Board, wait_for
from browser import Browser

TIME = 1_700_000_000
SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80">
<circle cx="60" cy="40" r="30" fill="#1f77b4"/><text x="10" y="20" font-size="14">a figure</text></svg>"""

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"differs: {what}", file=sys.stderr)


def make_inputs():
    torch.manual_seed(7)
    steps = torch.arange(100.0)
    row, column = torch.meshgrid(torch.linspace(0, 1, 48), torch.linspace(0, 1, 64), indexing="ij")
    pictures = [torch.stack([row, column, (8 * (row + column) + step).sin() / 2 + 0.5]) for step in range(3)]
    frames = [(row * 3 + column * 2 + frame / 4) % 1 > 0.5 for frame in range(8)]
    cube = torch.tensor([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
    return {
        "time": torch.tensor(TIME),
        "curves": torch.stack([2 * (-steps / 30).exp() + torch.rand(100) / 10,
                               2.2 * (-steps / 35).exp() + torch.rand(100) / 5], 1),
        "weights": torch.stack([torch.randn(2000) * (1 + step / 10) + step / 5 for step in range(20)]),
        "integers": torch.randint(-5, 300, (500,)),
        "picture": torch.stack(pictures),
        "bytes": torch.randint(256, (20, 30, 3), dtype=torch.uint8),
        "batch": torch.rand(10, 12, 16, 3),
        "boxes": torch.tensor([[4.6, 6.4, 30.5, 40.0], [20, 10, 60, 30]]),
        "video": torch.stack([torch.stack([frame, ~frame, frame]) for frame in frames])[None].to(torch.uint8) * 255,
        "sound": (torch.arange(4410) * 440 * 2 * math.pi / 44100).sin() * 0.8,
        "stereo": torch.stack([torch.linspace(-1.0, 1, 1000), torch.linspace(1, -1, 1000)], 1) * 0.9,
        "points": torch.randn(100, 8),
        "sprites": torch.rand(100, 3, 8, 8),
        "vertices": cube[None],
        "colors": (cube * 255).int()[None],
        "faces": torch.tensor([[[0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6]]]),
        "labels": torch.randint(2, (200,)),
        "predictions": torch.rand(200),
        "pr_weights": torch.rand(200),
        "pr_raw": torch.rand(6, 5),
    }


def make_files(folder):
    with open(os.path.join(folder, "figure.svg"), "w") as file:
        file.write(SVG)
    PIL.Image.fromarray(numpy.arange(30 * 40 * 3, dtype=numpy.uint8).reshape(30, 40, 3)).save(
        os.path.join(folder, "figure.png"))
    helper = onnx.helper
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [1, 3, 8, 8])
    scores = helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [1, 4])
    weight = helper.make_tensor("weight", onnx.TensorProto.FLOAT, [4, 3, 3, 3], numpy.zeros(108))
    nodes = [helper.make_node("Conv", ["image", "weight"], ["features"], kernel_shape=[3, 3], auto_pad="SAME_UPPER"),
             helper.make_node("Relu", ["features"], ["active"]),
             helper.make_node("LeakyRelu", ["active"], ["leaky"], alpha=0.5),
             helper.make_node("ReduceMean", ["leaky"], ["scores"], keepdims=0)]
    model = helper.make_model(helper.make_graph(nodes, "net", [image], [scores], [weight]))
    onnx.save(model, os.path.join(folder, "model.onnx"))


def write_theirs(folder, given):
    """The same calls as in summary_writer.cpp."""
    writer = tensorboardX.SummaryWriter(os.path.join(folder, "theirs"))
    at = {"walltime": TIME}
    for step, (loss, other) in enumerate(given["curves"].tolist()):
        writer.add_scalar("train/loss", loss, step, **at)
        writer.add_scalar("a tag/with = odd (characters)", other, step, **at)
        writer.add_scalars("both", {"train": loss, "test": other}, step, **at)
    for step, weights in enumerate(given["weights"]):
        writer.add_histogram("weights", weights, step, **at)
    writer.add_histogram("weights/few", given["weights"][0], 0, max_bins=10, **at)
    writer.add_histogram("weights/equal", given["weights"][0], 0, bins=17, **at)
    writer.add_histogram("integers", given["integers"], 0, **at)
    writer.add_histogram_raw("raw", -1, 2, 6, 3, 9.5, [0, 1, 2], [1, 2, 3], 0, **at)
    for step, picture in enumerate(given["picture"]):
        writer.add_image("picture", picture, step, **at)
    writer.add_image("bytes", given["bytes"], 0, dataformats="HWC", **at)
    writer.add_image("gray", given["picture"][0][0], 0, dataformats="HW", **at)
    writer.add_images("batch", given["batch"], 0, dataformats="NHWC", **at)
    writer.add_image_with_boxes("boxes", given["picture"][0], given["boxes"], 0, **at)
    writer.add_audio("sound", given["sound"], 0, **at)
    writer.add_audio("stereo", given["stereo"], 0, sample_rate=22050, **at)
    writer.add_text("a text", "# Title\n\n| a | b |\n|---|---|\n| 1 | ü |\n", 3, **at)
    labels = [f"label {i}" for i in range(100)]
    writer.add_embedding(given["points"], labels, given["sprites"], 7, "points/last")
    # tensorboardX leaves out what the mesh plugin needs, so this is PyTorch's.
    mesh = torch_summary.mesh("mesh", given["vertices"], given["colors"], given["faces"], {"lights": []})
    event = tensorboardX.proto.event_pb2.Event()
    event.summary.ParseFromString(mesh.SerializeToString())
    writer.file_writer.add_event(event, 0, TIME)
    writer.add_pr_curve("pr", given["labels"], given["predictions"], 0, **at)
    writer.add_pr_curve("pr/weighted", given["labels"], given["predictions"], 0, num_thresholds=20,
                        weights=given["pr_weights"].numpy(), **at)
    writer.add_pr_curve_raw("pr/raw", *given["pr_raw"].numpy(), 0, num_thresholds=5, **at)
    writer.add_hparams({"amp": True, "epochs": 90, "lr": 0.1, "optimizer": "sgd"},
                       {"final/loss": 1.25, "top1": 0.75}, "trial", 5)
    writer.add_custom_scalars({"losses": {"lines": ["Multiline", ["train/loss", "both"]],
                                          "band": ["Margin", ["train/loss", "low", "high"]]}})
    writer.add_graph(torchvision.models.resnet18(), torch.zeros(1, 3, 64, 64))
    writer.export_scalars_to_json(os.path.join(folder, "theirs.json"))
    writer.close()
    with tensorboardX.SummaryWriter(os.path.join(folder, "theirs_onnx")) as other:
        other.add_onnx_graph(os.path.join(folder, "model.onnx"))


def loaded(folder, run):
    accumulator = EventAccumulator(os.path.join(folder, run), {"scalars": 0, "histograms": 0, "images": 0, "audio": 0,
                                                               "tensors": 0})
    accumulator.Reload()
    return accumulator


def compare_files(folder, given):
    """As TensorBoard's EventAccumulator reads them."""
    ours, theirs = loaded(folder, "ours"), loaded(folder, "theirs")
    for kind in ("scalars", "histograms", "audio", "tensors"):
        check(sorted(ours.Tags()[kind]) == sorted(theirs.Tags()[kind]), f"the tags of {kind}: {ours.Tags()[kind]}")
    for tag in theirs.Tags()["scalars"]:
        check(ours.Scalars(tag) == theirs.Scalars(tag), f"scalars {tag}")
    for tag in theirs.Tags()["histograms"]:
        compare_histograms(tag, ours.Histograms(tag), theirs.Histograms(tag))
    for tag in theirs.Tags()["images"]:
        for found, wanted in zip(ours.Images(tag), theirs.Images(tag), strict=True):
            check((found.step, found.wall_time, found.width, found.height)
                  == (wanted.step, wanted.wall_time, wanted.width, wanted.height), f"the frame of image {tag}")
            check((pixels(found) == pixels(wanted)).all(), f"the pixels of image {tag}")
    for tag in theirs.Tags()["audio"]:
        compare_audio(tag, ours.Audio(tag)[0], theirs.Audio(tag)[0])
    wav = torch_summary.audio("sound", given["sound"]).value[0].audio.encoded_audio_string
    check(ours.Audio("sound")[0].encoded_audio_string == wav, "audio as PyTorch writes it")
    for tag in theirs.Tags()["tensors"]:
        compare_tensors(tag, ours, theirs)
    compare_own_pictures(folder, ours, given)
    compare_graphs(ours.Graph(), theirs.Graph())
    found, wanted = loaded(folder, "ours_onnx").Graph(), loaded(folder, "theirs_onnx").Graph()
    check(onnx_form(found) == onnx_form(wanted), f"the graph of an ONNX file:\n{found}\n{wanted}")
    compare_exports(folder)


def compare_histograms(tag, ours, theirs):
    for found, wanted in zip(ours, theirs, strict=True):
        found, wanted = found.histogram_value, wanted.histogram_value
        for name in ("min", "max", "num", "bucket_limit", "bucket"):
            check(getattr(found, name) == getattr(wanted, name), f"{name} of histogram {tag}")
        # Added up in another order.
        for name in ("sum", "sum_squares"):
            check(math.isclose(getattr(found, name), getattr(wanted, name), rel_tol=1e-9, abs_tol=1e-9),
                  f"{name} of histogram {tag}")


def pixels(image):
    return numpy.asarray(PIL.Image.open(io.BytesIO(image.encoded_image_string)))


def compare_audio(tag, found, wanted):
    for name in ("step", "wall_time", "sample_rate", "length_frames", "content_type"):
        check(getattr(found, name) == getattr(wanted, name), f"{name} of audio {tag}")
    found, wanted = (soundfile.read(io.BytesIO(value.encoded_audio_string), dtype="int16")[0] for value in (found, wanted))
    # libsndfile multiplies by 32,768 and rounds down, PyTorch and we multiply by 32,767 and cut off.
    check(found.shape == wanted.shape and abs(found.astype(int) - wanted.astype(int)).max() <= 2, f"audio {tag}")


def compare_tensors(tag, ours, theirs):
    check(ours.SummaryMetadata(tag).plugin_data == theirs.SummaryMetadata(tag).plugin_data,
          f"the plugin's data of {tag}: {ours.SummaryMetadata(tag)} {theirs.SummaryMetadata(tag)}")
    for found, wanted in zip(ours.Tensors(tag), theirs.Tensors(tag), strict=True):
        check(found.step == wanted.step, f"the step of {tag}")
        check(found.tensor_proto == wanted.tensor_proto, f"the tensor of {tag}")


def compare_own_pictures(folder, ours, given):
    """Those that tensorboardX cannot write here: it needs matplotlib and moviepy, and another font."""
    check((pixels(ours.Images("figure/pixels")[0]) == pixels(ours.Images("picture")[1])).all(), "a figure of pixels")
    with open(os.path.join(folder, "figure.png"), "rb") as file:
        check(ours.Images("figure/png")[0].encoded_image_string == file.read(), "a figure of a PNG file")
    svg = pixels(ours.Images("figure/svg")[0])
    check(svg.shape[:2] == (80, 120) and list(svg[40, 60][:3]) == [0x1F, 0x77, 0xB4], "a figure of an SVG file")
    video = PIL.Image.open(io.BytesIO(ours.Images("video")[0].encoded_image_string))
    check(video.n_frames == 8 and video.info["duration"] == 100 and video.info["loop"] == 0, "a video's frames")
    for frame in range(video.n_frames):
        video.seek(frame)
        wanted = given["video"][0, frame].permute(1, 2, 0).numpy()
        check((numpy.asarray(video.convert("RGB")) == wanted).all(), f"frame {frame} of a video")
    labelled, plain = pixels(ours.Images("labels")[0]), pixels(ours.Images("boxes")[0])
    changed = (labelled != plain).any(2)
    check(changed[28:41, 4:24].any() and not changed[:10].any(), "labels of boxes")


def operations(graph):
    """What both tracers must agree on: the operations with the shapes of their results, in order. Their convolutions are
    traced under an older name; a linear layer of C++ transposes its weight and multiplies."""
    names = {"aten::_convolution": "aten::conv2d", "aten::addmm": "aten::linear"}
    found = [(node.op.rstrip("_"), node.attr["_output_shapes"].list.shape[0].dim)
             for node in graph.node if node.op.startswith("aten::") and node.op != "aten::t"]
    return [(names.get(op, op), [dim.size for dim in shape]) for op, shape in found]


def compare_graphs(ours, theirs):
    ours, theirs = (operations(GraphDef.FromString(graph.SerializeToString())) for graph in (ours, theirs))
    differing = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]][:3]
    check(ours == theirs, f"the operations of a graph: {len(ours)} and {len(theirs)}, {differing}")


def onnx_form(graph):
    return [(node.name, node.op, list(node.input), str(node.attr["shape"]), str(node.attr["dtype"]))
            for node in graph.node]


def compare_exports(folder):
    ours, theirs = (json.load(open(os.path.join(folder, name))) for name in ("ours.json", "theirs.json"))
    ours = {name.replace("/ours/", "/theirs/"): rows for name, rows in ours.items()}
    check(ours == theirs, "export_scalars_to_json")


def compare_pages(board):
    """As TensorBoard's server answers, for each of its plugins."""
    wait_for("the runs", lambda: {"ours/trial", "theirs/trial", "ours/both/train"} <= set(board.ask("runs")))

    def same(route, **query):
        found, wanted = (board.get(route, run=run + query.get("sub", ""), **{k: v for k, v in query.items() if k != "sub"})
                         for run in ("ours", "theirs"))
        check(found == wanted, f"{route} {query}: {found[:300]} {wanted[:300]}")
        return wanted

    scalars = wait_for("scalars", lambda: json.loads(board.get("plugin/scalars/scalars", run="theirs", tag="train/loss")))
    check(len(scalars) == 100, "the number of scalars")
    same("plugin/scalars/scalars", tag="train/loss")
    same("plugin/scalars/scalars", tag="a_tag/with___odd__characters_")
    same("plugin/scalars/scalars", tag="both", sub="/both/train")
    for route in ("histograms/histograms", "distributions/distributions"):
        check(len(json.loads(same(f"plugin/{route}", tag="weights"))) == 20, f"the number of {route}")
    same("plugin/text/text", tag="a text/text_summary")
    for tag in ("pr", "pr/weighted", "pr/raw"):
        found, wanted = (board.ask("plugin/pr_curves/pr_curves", run=run, tag=tag)[run] for run in ("ours", "theirs"))
        check(found == wanted and found, f"PR curve {tag}")
    compare_media(board)
    compare_projector(board)
    compare_mesh(board)
    compare_hparams(board)
    layout = board.ask("plugin/custom_scalars/layout")
    check([category["title"] for category in layout["category"]] == ["losses"]
          and [chart["title"] for chart in layout["category"][0]["chart"]] == ["lines", "band"], f"the layout {layout}")
    found = board.ask("plugin/custom_scalars/scalars", run="ours", tag="train/loss")
    check(found["regex_valid"] and len(found["tag_to_events"]["train/loss"]) == 100, "custom scalars")
    graph = board.get("plugin/graphs/graph", run="ours", conceptual="false").decode()
    for part in ("ResNet/Module[layer1]/ResidualBlock[0]/Conv2d[conv1]/convolution", "output/output.1"):
        check(part in graph, f"the graph has no {part}")


def compare_media(board):
    for kind, single in (("images", "individualImage"), ("audio", "individualAudio")):
        tags = board.ask(f"plugin/{kind}/tags")
        for tag in tags["ours"]:
            (entry, *_) = board.ask(f"plugin/{kind}/{kind}", run="ours", tag=tag, sample=0)
            query = dict(urllib.parse.parse_qsl(entry["query"]))
            check(len(board.get(f"plugin/{kind}/{single}", **query)) > 100, f"{kind} {tag}")


def compare_projector(board):
    runs = board.ask("plugin/projector/runs")
    check("ours" in runs and "theirs" in runs, f"the runs of the projector {runs}")
    ours, theirs = (board.ask("plugin/projector/info", run=run)["embeddings"] for run in ("ours", "theirs"))
    check(ours == theirs, f"the projector's embeddings: {ours} {theirs}")
    name = ours[0]["tensorName"]
    for route in ("tensor", "metadata"):
        found, wanted = (board.get(f"plugin/projector/{route}", run=run, name=name) for run in ("ours", "theirs"))
        check(found == wanted and found, f"the projector's {route}")
    found, wanted = (board.get("plugin/projector/sprite_image", run=run, name=name) for run in ("ours", "theirs"))
    found, wanted = (numpy.asarray(PIL.Image.open(io.BytesIO(png))) for png in (found, wanted))
    check((found == wanted).all(), "the projector's sprites")


def compare_mesh(board):
    for content in ("VERTEX", "FACE", "COLOR"):
        found, wanted = (board.get("plugin/mesh/data", run=run, tag="mesh", content_type=content, sample=0, step=0)
                         for run in ("ours", "theirs"))
        check(found == wanted and found, f"{content} of a mesh")
    ours, theirs = (board.ask("plugin/mesh/meshes", run=run, tag="mesh", sample=0) for run in ("ours", "theirs"))
    check(ours == theirs and ours, "the parts of a mesh")


def compare_hparams(board):
    request = {"experimentName": "", "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS"],
               "colParams": [], "startIndex": 0, "sliceSize": 100}
    groups = board.post("plugin/hparams/session_groups", request)["sessionGroups"]
    found = {session["name"]: group for group in groups for session in group["sessions"]}
    check({"ours/trial", "theirs/trial"} <= set(found), f"the sessions of hparams {list(found)}")
    check(found["ours/trial"]["hparams"] == found["theirs/trial"]["hparams"], f"hparams {found}")
    for name, session in found.items():
        metrics = {value["name"]["tag"]: value["value"] for value in session["metricValues"]}
        check(metrics.get("top1") == 0.75 and metrics.get("final/loss") == 1.25, f"metrics of {name}: {metrics}")


def fraction(pixels, is_wanted):
    """How much of the part of a page where dashboards draw has such a color."""
    part = pixels[64:, 320:].astype(int)
    return is_wanted(part[..., 0], part[..., 1], part[..., 2]).mean()


# What is on a page that shows something: curves in the first run's orange, images and histograms of many colors, and the
# frames of a graph's nodes.
PAGES = {
    "scalars": lambda page: fraction(page, lambda r, g, b: (r > 200) & (g < 160) & (b < 120)) > 0.0005,
    "images": lambda page: len(numpy.unique(page[64:, 320:].reshape(-1, 3), axis=0)) > 1000,
    "histograms": lambda page: fraction(page, lambda r, g, b: (r > 150) & (r - b > 60)) > 0.01,
    "graphs": lambda page: fraction(page, lambda r, g, b: (abs(r - g) < 20) & (r < 245)) > 0.01,
}


def look(board, pictures):
    with Browser() as browser:
        for page, is_shown in PAGES.items():
            browser.open(f"{board.address}#{page}")
            pixels = browser.settled(is_shown)
            if page == "graphs":
                folded = pixels
                browser.double_click("ResNet")
                pixels = browser.settled(lambda unfolded: (unfolded != folded).any(2).mean() > 0.05)
            if pictures:
                image = PIL.Image.fromarray(pixels).quantize(128, dither=PIL.Image.Dither.NONE)
                image.save(os.path.join(pictures, f"tensorboard-{page}.png"), optimize=True)


def main():
    pictures = sys.argv[sys.argv.index("--pictures") + 1] if "--pictures" in sys.argv else None
    with tempfile.TemporaryDirectory() as folder:
        given = make_inputs()
        torch.save(given, os.path.join(folder, "inputs.pt"))
        make_files(folder)
        subprocess.run([sys.argv[1], folder], check=True, timeout=120)
        write_theirs(folder, given)
        compare_files(folder, given)
        with Board(folder) as board:
            compare_pages(board)
            look(board, pictures)
    print(f"{len(failures)} differences")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
