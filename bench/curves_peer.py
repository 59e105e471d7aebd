"""PyTorch's part of bench/curves: ResNet-50 on CIFAR-10 with the settings of bs256-amp-nhwc-extra-opts.

Prints one JSON object for each epoch: epoch, train loss, test loss and top1, samples a second of training.
"""
import argparse
import json
import time

import torch
import torch.nn.functional as F
import torchvision
from torchvision import transforms

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--workers", type=int, default=12)
parser.add_argument("--device", default="cuda")
parser.add_argument("--model", default="resnet50")
parser.add_argument("--batch", type=int, default=256)
parser.add_argument("--steps", type=int, default=0, help="of an epoch, for a quick look")
options = parser.parse_args()

torch.manual_seed(options.seed)
torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True
normalize = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
augment = [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.RandomRotation(15)]
train_set = torchvision.datasets.ImageFolder(
    f"{options.data}/train", transforms.Compose([*augment, transforms.ToTensor(), normalize]))
test_set = torchvision.datasets.ImageFolder(
    f"{options.data}/test", transforms.Compose([transforms.ToTensor(), normalize]))
loader_options = {"num_workers": options.workers, "pin_memory": options.device == "cuda",
                  "persistent_workers": options.workers > 0}
train_loader = torch.utils.data.DataLoader(train_set, options.batch, shuffle=True, drop_last=True, **loader_options)
test_loader = torch.utils.data.DataLoader(test_set, 128, **loader_options)

device = torch.device(options.device)
model = torchvision.models.get_model(options.model, num_classes=10)
model.conv1 = torch.nn.Conv2d(3, 64, 7, 1, 3, bias=False)
torch.nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
model.maxpool = torch.nn.Identity()
model = model.to(device, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.14, momentum=0.9, weight_decay=5e-4, fused=True)
# The fused SGD makes its buffers without filling them, and leaves them so when the scaler passes over the first step.
for parameter in model.parameters():
    optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.2, patience=10)
scaler = torch.amp.GradScaler(options.device)


def batches(loader):
    for step, (images, labels) in enumerate(loader):
        if options.steps and step == options.steps:
            return
        yield (images.to(device, non_blocking=True, memory_format=torch.channels_last),
               labels.to(device, non_blocking=True))


for epoch in range(options.epochs):
    model.train()
    began, samples = time.time(), 0
    total = torch.zeros((), dtype=torch.float64, device=device)
    for images, labels in batches(train_loader):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.float16):
            loss = F.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.detach().double() * len(labels)
        samples += len(labels)
    train_loss = total.item() / samples
    seconds = time.time() - began
    model.eval()
    with torch.no_grad():
        loss = correct = count = 0
        for images, labels in batches(test_loader):
            with torch.autocast(device.type, dtype=torch.float16):
                scores = model(images)
            loss += F.cross_entropy(scores.double(), labels, reduction="sum").item()
            correct += (scores.argmax(1) == labels).sum().item()
            count += len(labels)
    schedule.step(loss / count)
    print(json.dumps({"epoch": epoch + 1, "train_loss": train_loss, "test_loss": loss / count,
                      "top1": correct / count, "samples_per_second": samples / seconds}), flush=True)
