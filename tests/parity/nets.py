"""The small nets of the registry, as PyTorch has them."""
import torch
import torch.nn as nn


class Mnist(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv2(self.conv1(x).relu()).relu(), 2)
        return self.fc2(self.fc1(x.flatten(1)).relu())


class Lenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 5), nn.Conv2d(16, 32, 5)
        self.fc1, self.fc2 = nn.Linear(512, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv1(x).relu(), 2)
        x = nn.functional.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc2(self.fc1(x.flatten(1)).relu())


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(128, 512, 2, batch_first=True), nn.Linear(512, 100)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


class Conv3d(nn.Module):
    def __init__(self):
        super().__init__()
        channels, layers = [2, 16, 32, 64, 128], []
        for inputs, outputs in zip(channels, channels[1:]):
            layers += [nn.Conv3d(inputs, outputs, 3, padding=1), nn.LeakyReLU(), nn.MaxPool3d(2)]
        self.features, self.fc = nn.Sequential(*layers), nn.Linear(128 * 8, 4)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


class AirbenchGroup(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        for i, channels in enumerate([inputs, outputs, outputs], 1):
            convolution = nn.Conv2d(channels, outputs, 3, padding=1, bias=False)
            nn.init.dirac_(convolution.weight.data[:channels])
            setattr(self, f"conv{i}", convolution)
            setattr(self, f"bn{i}", nn.BatchNorm2d(outputs))

    def forward(self, x):
        gelu = nn.functional.gelu
        x = gelu(self.bn1(nn.functional.max_pool2d(self.conv1(x), 2)))
        return gelu(x + self.bn3(self.conv3(gelu(self.bn2(self.conv2(x))))))


class Airbench(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.group1, self.group2, self.group3 = AirbenchGroup(32, 128), AirbenchGroup(128, 384), AirbenchGroup(384, 512)
        self.fc = nn.Linear(512, 10, bias=False)

    def forward(self, x):
        x = self.group3(self.group2(self.group1(nn.functional.gelu(self.bn1(self.conv1(x))))))
        return self.fc(x.amax((2, 3))) / 9


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Linear(128, 256), nn.Parameter(torch.randn(32, 256) * 0.02)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, norm=nn.LayerNorm(256), enable_nested_tensor=False)
        self.fc = nn.Linear(256, 100)

    def forward(self, x):
        return self.fc(self.encoder(self.embedding(x) + self.position).mean(1))
