# SPDX-License-Identifier: Apache-2.0
"""Networks of PyTorch, torchvision, timm, transformers and diffusers with random weights, by PyTorch's exporter."""
import io
import os
import pathlib
import tempfile

import numpy
import onnx
import torch

os.environ["HF_HUB_OFFLINE"] = "1"


class Parts(torch.nn.Module):
    """A model whose call takes its inputs by position and gives tensors."""

    def __init__(self, inner, call):
        super().__init__()
        self.inner, self.call = inner, call

    def forward(self, *inputs):
        return self.call(self.inner, *inputs)


def exported(make, inputs, opset=18, call=None, old=False):
    """The model with its inputs as arrays; old: by the exporter that traces."""
    torch.manual_seed(5)
    model = make().eval()
    model = Parts(model, call).eval() if call else model
    names = [f"x{i}" for i in range(len(inputs))]
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "model.onnx")
        with torch.no_grad():
            torch.onnx.export(model, tuple(inputs), path, opset_version=opset, input_names=names, dynamo=not old,
                              **({} if old else {"verbose": False}))
        proto = onnx.load(path)
    kept = {i.name for i in proto.graph.input}
    return proto, {n: x.numpy() for n, x in zip(names, inputs) if n in kept}


def image(size=64, batch=1, channels=3):
    return torch.randn(batch, channels, size, size, generator=torch.Generator().manual_seed(1))


def words(count=12, batch=1, top=99):
    return torch.randint(1, top, (batch, count), generator=torch.Generator().manual_seed(2))


def sound(count):
    return torch.randn(1, count, generator=torch.Generator().manual_seed(3))


def vision(name, size=64, opset=18, old=False, batch=1, **options):
    import torchvision
    return lambda: exported(lambda: torchvision.models.get_model(name, weights=None, num_classes=10, **options), [image(size, batch)], opset, old=old)


def timm_of(name, size=64, opset=20, batch=1, old=False, **options):
    import timm
    return lambda: exported(lambda: timm.create_model(name, pretrained=False, num_classes=10, **options), [image(size, batch)], opset, old=old)


def mixer():
    """Built as such: timm's own sizes of it cannot be told to be smaller."""
    from timm.models.mlp_mixer import MlpMixer
    return lambda: exported(lambda: MlpMixer(num_classes=10, img_size=64, patch_size=16, embed_dim=64, num_blocks=2), [image()], 20)


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99}


def language(config, model, opset=18, old=False, inputs=None, pick=lambda y: y[0], call=lambda m, *x: m(*x, return_dict=False), **options):
    """By the names of the classes; the first output."""
    def make():
        import transformers
        wishes = getattr(transformers, config)(**(SMALL | options))
        wishes._attn_implementation = "eager" if old else "sdpa"
        return getattr(transformers, model)(wishes)

    return lambda: exported(make, inputs or [words()], opset, lambda m, *x: pick(call(m, *x)), old)


class Recurrent(torch.nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.cell = getattr(torch.nn, kind)(16, 24, batch_first=True, **options)
        self.last = torch.nn.Linear(48 if options.get("bidirectional") else 24, 5)

    def forward(self, x):
        return self.last(self.cell(x)[0])


class Packed(torch.nn.Module):
    """Sequences of several lengths, both ways."""

    def __init__(self):
        super().__init__()
        self.cell, self.last = torch.nn.GRU(16, 24, num_layers=2, batch_first=True, bidirectional=True), torch.nn.Linear(48, 5)

    def forward(self, x, lengths):
        y, hidden = self.cell(torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True))
        return self.last(torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True)[0]), hidden


class UNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.up, self.last = torch.nn.ConvTranspose2d(32, 16, 2, stride=2), torch.nn.Conv2d(32, 4, 1)
        self.norm, self.act = torch.nn.GroupNorm(4, 32), torch.nn.PReLU(16)

    def forward(self, x):
        a = self.act(self.a(x))
        y = torch.cat([self.up(torch.nn.functional.silu(self.norm(self.b(a)))), a], 1)
        return torch.nn.functional.interpolate(self.last(y), scale_factor=2, mode="bilinear")


class Temporal(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = torch.nn.ModuleList(torch.nn.Conv1d(8, 8, 3, dilation=2 ** i, padding=2 ** (i + 1)) for i in range(4))

    def forward(self, x):
        for step in self.steps:
            x = x + torch.relu(step(x)[..., :x.shape[-1]])
        return x


class Spectrum(torch.nn.Module):
    def forward(self, x):
        y = torch.stft(x, 64, 16, window=torch.hann_window(64), return_complex=True)
        return torch.log1p(torch.view_as_real(y).pow(2).sum(-1))


def sequence(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4))


def diffusion():
    import diffusers
    return diffusers.UNet2DConditionModel(sample_size=16, block_out_channels=(16, 32), layers_per_block=1, cross_attention_dim=16, norm_num_groups=8,
                                          attention_head_dim=8, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
                                          up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"))


def coder():
    import diffusers
    return diffusers.AutoencoderKL(block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                                   norm_num_groups=8, latent_channels=4)


class Recursive(torch.nn.Module):
    """As ESRGAN has it: dense residual blocks, then steps to twice the size."""

    def __init__(self, width=16, growth=8, blocks=2):
        super().__init__()
        convolution = lambda inputs, outputs: torch.nn.Conv2d(inputs, outputs, 3, padding=1)
        self.first, self.last = convolution(3, width), convolution(width, 3)
        self.blocks = torch.nn.ModuleList(torch.nn.ModuleList(convolution(width + i * growth, growth if i < 4 else width) for i in range(5))
                                          for _ in range(blocks))
        self.steps = torch.nn.ModuleList(convolution(width, width) for _ in range(2))

    def forward(self, x):
        act = lambda y: torch.nn.functional.leaky_relu(y, 0.2)
        x = self.first(x)
        y = x
        for block in self.blocks:
            parts = [y]
            for i, step in enumerate(block):
                z = step(torch.cat(parts, 1))
                parts.append(act(z) if i < 4 else z)
            y = y + 0.2 * parts[-1]
        y = x + y
        for step in self.steps:
            y = act(step(torch.nn.functional.interpolate(y, scale_factor=2, mode="nearest")))
        return self.last(y)


class Boxes(torch.nn.Module):
    """As YOLO has it: blocks whose halves go apart, pools of one size in a row, maps of three sizes, boxes as means over bins."""

    BINS, KINDS = 8, 3

    def __init__(self, width=16):
        super().__init__()
        self.down = torch.nn.ModuleList(self.step(3 if i == 0 else width, width, 3, 2) for i in range(4))
        self.halves = torch.nn.ModuleList(self.step(width // 2, width // 2, 3) for _ in range(4))
        self.join = torch.nn.ModuleList(self.step(width * 3 // 2, width, 1) for _ in range(4))
        self.pooled = self.step(width * 4, width, 1)
        self.mixed = torch.nn.ModuleList(self.step(width * 2, width, 1) for _ in range(2))
        self.heads = torch.nn.ModuleList(torch.nn.Conv2d(width, 4 * self.BINS + self.KINDS, 1) for _ in range(3))

    @staticmethod
    def step(inputs, outputs, size, stride=1):
        return torch.nn.Sequential(torch.nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), torch.nn.BatchNorm2d(outputs), torch.nn.SiLU())

    def forward(self, x):
        maps = []
        for down, half, join in zip(self.down, self.halves, self.join):
            x = down(x)
            parts = list(x.chunk(2, 1))
            x = join(torch.cat([*parts, parts[1] + half(parts[1])], 1))
            maps.append(x)
        pools = [x]
        for _ in range(3):
            pools.append(torch.nn.functional.max_pool2d(pools[-1], 5, 1, 2))
        maps[3] = self.pooled(torch.cat(pools, 1))
        for at, mixed in ((2, self.mixed[0]), (1, self.mixed[1])):
            maps[at] = mixed(torch.cat([torch.nn.functional.interpolate(maps[at + 1], scale_factor=2.0), maps[at]], 1))
        flat = torch.cat([head(y).flatten(2) for head, y in zip(self.heads, maps[1:])], 2)
        sides, kinds = flat.split([4 * self.BINS, self.KINDS], 1)
        sides = sides.view(sides.shape[0], 4, self.BINS, -1).softmax(2)
        return torch.cat([(sides * torch.arange(self.BINS).view(1, 1, -1, 1)).sum(2), kinds.sigmoid()], 1)


class Vocoder(torch.nn.Module):
    """As HiFi-GAN has it: steps to more samples whose windows overlap, each with blocks along the line whose windows have gaps."""

    def __init__(self, width=64):
        super().__init__()
        self.first, self.last = torch.nn.Conv1d(40, width, 7, padding=3), torch.nn.Conv1d(width >> 3, 1, 7, padding=3)
        sizes = ((8, 4), (8, 4), (4, 2))
        self.steps = torch.nn.ModuleList(torch.nn.ConvTranspose1d(width >> i, width >> (i + 1), size, stride, (size - stride) // 2)
                                         for i, (size, stride) in enumerate(sizes))
        self.blocks = torch.nn.ModuleList(torch.nn.ModuleList(torch.nn.Conv1d(width >> (i + 1), width >> (i + 1), 3, dilation=gap, padding=gap)
                                                              for gap in (1, 3, 5)) for i in range(len(sizes)))

    def forward(self, x):
        act = lambda y: torch.nn.functional.leaky_relu(y, 0.1)
        x = self.first(x)
        for step, block in zip(self.steps, self.blocks):
            x = step(act(x))
            for part in block:
                x = x + part(act(x))
        return torch.tanh(self.last(act(x)))


class Masks(torch.nn.Module):
    """As SAM's decoder has it: tokens and an image look at each other, and each token is a mask over the image, four times as large."""

    def __init__(self, width=64, tokens=5):
        super().__init__()
        look = lambda: torch.nn.MultiheadAttention(width, 4, batch_first=True)
        self.there, self.back, self.tokens = look(), look(), torch.nn.Parameter(torch.randn(1, tokens, width))
        self.up = torch.nn.Sequential(torch.nn.ConvTranspose2d(width, 16, 2, 2), torch.nn.GELU(), torch.nn.ConvTranspose2d(16, 8, 2, 2), torch.nn.GELU())
        self.weights = torch.nn.Linear(width, 8)

    def forward(self, x):
        image, tokens = x.flatten(2).transpose(1, 2), self.tokens.expand(x.shape[0], -1, -1)
        tokens = tokens + self.there(tokens, image, image)[0]
        image = image + self.back(image, tokens, tokens)[0]
        large = self.up(image.transpose(1, 2).reshape(x.shape))
        return self.weights(tokens) @ large.flatten(2)


class Splines(torch.nn.Module):
    """As a Kolmogorov-Arnold network has them: B-splines of each input, by Cox and de Boor."""

    def __init__(self, inputs=8, outputs=16, grid=8, degree=3):
        super().__init__()
        self.degree, self.weights = degree, torch.nn.Parameter(torch.randn(inputs, outputs, grid) / grid)
        self.register_buffer("knots", torch.linspace(-2, 2, grid + degree + 1))
        self.base = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        z, t = x.unsqueeze(-1), self.knots
        basis = ((z >= t[:-1]) & (z < t[1:])).float()
        for k in range(1, self.degree + 1):
            left = (z - t[:-(k + 1)]) / (t[k:-1] - t[:-(k + 1)])
            right = (t[k + 1:] - z) / (t[k + 1:] - t[1:-k])
            basis = left * basis[..., :-1] + right * basis[..., 1:]
        return torch.einsum("bik,iok->bo", basis, self.weights) + self.base(torch.nn.functional.silu(x))


class Recommender(torch.nn.Module):
    """As DLRM has it: bags of embeddings, and the products of each with each."""

    def __init__(self, width=8, tables=3):
        super().__init__()
        self.bags = torch.nn.ModuleList(torch.nn.EmbeddingBag(50, width, mode="sum") for _ in range(tables))
        self.bottom = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, width))
        pairs = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("rows", pairs[0])
        self.register_buffer("columns", pairs[1])
        self.top = torch.nn.Sequential(torch.nn.Linear(width + pairs.shape[1], 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

    def forward(self, x, kinds):
        dense = self.bottom(x)
        all_of = torch.stack([dense] + [bag(kinds[:, i]) for i, bag in enumerate(self.bags)], 1)
        pairs = torch.bmm(all_of, all_of.transpose(1, 2))[:, self.rows, self.columns]
        return torch.sigmoid(self.top(torch.cat([dense, pairs], 1)))


def of_config(config, model, inputs, call, opset=18, **options):
    """Of transformers, with sizes that have names of their own."""
    def make():
        import transformers
        return getattr(transformers, model)(getattr(transformers, config)(**options))
    return lambda: exported(make, inputs, opset, call)


LAYERS, HEADS = 2, 4


def whisper():
    import transformers
    config = transformers.WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, max_source_positions=32, vocab_size=99,
                                        decoder_layers=LAYERS, decoder_attention_heads=HEADS, decoder_ffn_dim=64, pad_token_id=0, bos_token_id=1,
                                        eos_token_id=2, decoder_start_token_id=1)
    return transformers.WhisperForConditionalGeneration(config)


def whisper_step(batch, past=16, frames=32):
    """One more word: keys and values of the words so far, and those of the sound, which stay as they are."""
    lengths = (past, past, frames, frames)
    kept = [sequence(batch, HEADS, length, 32 // HEADS) * (i + 1) / 4 for i in range(LAYERS) for length in lengths]

    def call(m, ids, sound, *kept):
        import transformers
        cache = transformers.EncoderDecoderCache(transformers.DynamicCache(), transformers.DynamicCache())
        for layer in range(LAYERS):
            own, other = kept[4 * layer:4 * layer + 2], kept[4 * layer + 2:4 * layer + 4]
            cache.self_attention_cache.update(*own, layer)
            cache.cross_attention_cache.update(*other, layer)
            cache.is_updated[layer] = True
        y = m(decoder_input_ids=ids, encoder_outputs=(sound,), past_key_values=cache, use_cache=True)
        return (y.logits, *(t for layer in cache.self_attention_cache.layers for t in (layer.keys, layer.values)))

    return lambda: exported(whisper, [words(1, batch), sequence(batch, frames, 32), *kept], 18, call)


def stepped(config, model, batch, past, opset=18, **options):
    """One more word behind those of the cache, whose keys and values go in and come out."""
    shape = (batch, options.get("num_key_value_heads", HEADS), past, 32 // HEADS)
    kept = [sequence(*shape) * (i + 1) / 4 for i in range(2 * LAYERS)]

    def make():
        import transformers
        wishes = getattr(transformers, config)(**(SMALL | options))
        wishes._attn_implementation = "sdpa"
        return getattr(transformers, model)(wishes)

    def call(m, ids, *kept):
        import transformers
        cache = transformers.DynamicCache()
        for layer in range(LAYERS):
            cache.update(kept[2 * layer], kept[2 * layer + 1], layer)
        y = m(ids, past_key_values=cache, use_cache=True)
        return (y.logits, *(t for layer in cache.layers for t in (layer.keys, layer.values)))

    return lambda: exported(make, [words(1, batch), *kept], opset, call)


GPT = dict(config="GPT2Config", model="GPT2LMHeadModel", n_embd=32, n_layer=LAYERS, n_head=HEADS)
LLAMA_STEP = dict(config="LlamaConfig", model="LlamaForCausalLM", num_key_value_heads=2)
LLAMA = dict(use_cache=False, **LLAMA_STEP)
T5 = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)

MODELS = {
    "gpt2-cached": stepped(batch=1, past=16, **GPT), "gpt2-cached-8": stepped(batch=8, past=16, **GPT),
    "gpt2-128": language(inputs=[words(128)], n_positions=512, use_cache=False, **GPT),
    "mixtral": language("MixtralConfig", "MixtralForCausalLM", num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2, use_cache=False,
                        experts_implementation="batched_mm"),
    "t5": language("T5Config", "T5ForConditionalGeneration", inputs=[words(), words(5)], call=lambda m, x, y: m(
        input_ids=x, decoder_input_ids=y, use_cache=False, return_dict=False), **T5),
    "esrgan": lambda: exported(Recursive, [image(24)]), "yolo": lambda: exported(Boxes, [image(64)]),
    "resnet18": vision("resnet18"), "resnet18-traced": vision("resnet18", opset=13, old=True), "mobilenet-v3": vision("mobilenet_v3_small"),
    "shufflenet": vision("shufflenet_v2_x0_5", opset=21), "squeezenet": vision("squeezenet1_1"), "efficientnet": vision("efficientnet_b0", opset=22),
    "densenet": vision("densenet121", opset=19), "regnet": vision("regnet_y_400mf"), "googlenet": vision("googlenet", init_weights=False, aux_logits=False),
    "vit": timm_of("vit_tiny_patch16_224", img_size=64), "swin": timm_of("swin_tiny_patch4_window7_224", 56, img_size=56, depths=(1, 1, 1, 1), embed_dim=24,
                                                                        num_heads=(1, 2, 3, 6)),
    "convnext": timm_of("convnext_atto"), "mixer": mixer(), "edgenext": timm_of("edgenext_xx_small"),
    "ghostnet": timm_of("ghostnet_100", opset=23), "levit": timm_of("levit_128s", 224),
    "bert": language("BertConfig", "BertModel"), "bert-23": language("BertConfig", "BertModel", 23), "bert-traced": language("BertConfig", "BertModel", 14, True),
    "distilbert": language("DistilBertConfig", "DistilBertModel", dim=32, n_layers=2, n_heads=4, hidden_dim=64),
    "roberta": language("RobertaConfig", "RobertaModel", 20), "electra": language("ElectraConfig", "ElectraModel", embedding_size=16),
    "albert": language("AlbertConfig", "AlbertModel", embedding_size=16), "gpt2": language("GPT2Config", "GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=4, use_cache=False),
    "llama": language("LlamaConfig", "LlamaForCausalLM", num_key_value_heads=2, use_cache=False),
    "llama-23": language("LlamaConfig", "LlamaForCausalLM", 23, num_key_value_heads=2, use_cache=False),
    "mistral": language("MistralConfig", "MistralForCausalLM", num_key_value_heads=2, use_cache=False),
    "qwen2": language("Qwen2Config", "Qwen2ForCausalLM", 21, num_key_value_heads=2, use_cache=False),
    "gemma": language("GemmaConfig", "GemmaForCausalLM", num_key_value_heads=2, head_dim=8, use_cache=False),
    "opt": language("OPTConfig", "OPTForCausalLM", ffn_dim=64, word_embed_proj_dim=32, use_cache=False),
    "neox": language("GPTNeoXConfig", "GPTNeoXForCausalLM", use_cache=False),
    "t5-encoder": language("T5Config", "T5EncoderModel", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
    "whisper-encoder": lambda: exported(lambda: whisper().model.encoder, [sequence(1, 80, 64)], 18, lambda m, x: m(x, return_dict=False)[0]),
    "whisper": lambda: exported(whisper, [sequence(1, 80, 64), words(5)], 18, lambda m, x, y: m(
        input_features=x, decoder_input_ids=y, use_cache=False, return_dict=False)[0]),
    "whisper-cached": whisper_step(1), "whisper-cached-8": whisper_step(8),
    "gpt2-512": language(inputs=[words(512)], n_positions=512, use_cache=False, **GPT), "gpt2-128-8": language(
        inputs=[words(128, 8)], n_positions=512, use_cache=False, **GPT),
    "llama-512": language(inputs=[words(512)], **LLAMA), "llama-23-512": language(inputs=[words(512)], opset=23, **LLAMA),
    "llama-8": language(inputs=[words(12, 8)], **LLAMA), "llama-cached": stepped(batch=1, past=16, **LLAMA_STEP),
    "llama-cached-8": stepped(batch=8, past=16, **LLAMA_STEP), "bert-8": language("BertConfig", "BertModel", inputs=[words(64, 8)]),
    "vit-8": timm_of("vit_tiny_patch16_224", img_size=64, batch=8), "resnet18-8": vision("resnet18", batch=8),
    "wav2vec2": language("Wav2Vec2Config", "Wav2Vec2Model", inputs=[sound(4000)], conv_dim=(16,) * 7, num_conv_pos_embeddings=16,
                         num_conv_pos_embedding_groups=4),
    "clip-text": language("CLIPTextConfig", "CLIPTextModel", 20),
    "lstm": lambda: exported(lambda: Recurrent("LSTM"), [sequence(2, 7, 16)]),
    "lstm-both-ways": lambda: exported(lambda: Recurrent("LSTM", bidirectional=True, num_layers=2), [sequence(2, 7, 16)], 17, old=True),
    "gru": lambda: exported(lambda: Recurrent("GRU"), [sequence(2, 7, 16)], 17, old=True),
    "rnn": lambda: exported(lambda: Recurrent("RNN"), [sequence(2, 7, 16)], 17, old=True),
    "u-net": lambda: exported(UNet, [image(32)]), "u-net-traced": lambda: exported(UNet, [image(32)], 16, old=True),
    "vocoder": lambda: exported(Vocoder, [sequence(1, 40, 32)]), "masks": lambda: exported(Masks, [sequence(1, 64, 16, 16)]),
    "qwen3": language("Qwen3Config", "Qwen3ForCausalLM", num_key_value_heads=2, head_dim=8, use_cache=False),
    "repvgg": timm_of("repvgg_a0", opset=13, old=True), "mobileone": timm_of("mobileone_s0", opset=11, old=True),
    "packed": lambda: exported(Packed, [sequence(3, 7, 16), torch.tensor([7, 5, 2])], 17, old=True),
    "splines": lambda: exported(Splines, [sequence(32, 8)]),
    "recommender": lambda: exported(Recommender, [sequence(8, 6), words(12, 8, 50).reshape(8, 3, 4)]),
    "codec": of_config("DacConfig", "DacModel", [sound(1024)[None]], lambda m, x: m.decoder(m.encoder(x)), encoder_hidden_size=8,
                       downsampling_ratios=[2, 4], decoder_hidden_size=32, hidden_size=32),
    "deberta": of_config("DebertaV2Config", "DebertaV2Model", [words()], lambda m, x: m(x, return_dict=False)[0], relative_attention=True,
                         position_biased_input=False, pos_att_type=["p2c", "c2p"], position_buckets=8, max_relative_positions=16,
                         norm_rel_ebd="layer_norm", share_att_key=True, **SMALL),
    "mamba": of_config("MambaConfig", "MambaForCausalLM", [words(8)], lambda m, x: m(x, use_cache=False, return_dict=False)[0], hidden_size=32,
                       state_size=8, num_hidden_layers=2, vocab_size=99),
    "temporal": lambda: exported(Temporal, [sequence(1, 8, 40)]), "spectrum": lambda: exported(Spectrum, [sound(512)], 18, old=False),
    "diffusion": lambda: exported(diffusion, [sequence(1, 4, 16, 16), torch.tensor([7]), sequence(1, 6, 16)], 20, lambda m, *x: m(*x, return_dict=False)[0]),
    "coder": lambda: exported(coder, [image(16)], 20, lambda m, x: m.decode(m.encode(x, return_dict=False)[0].mode(), return_dict=False)[0]),
}

