"""What the gallery shows: each model with its kind, the library it comes from, and how it is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A model, and what is said of it."""

    name: str
    kinds: str
    target: str
    options: str = ""
    """Lines of options; without `shape` its inputs are found."""
    library: str = ""
    """Where it comes from, if the target does not say it."""

    @property
    def package(self) -> str:
        """The package that the model is of."""
        return self.library or self.target.partition(".")[0]

    def written(self) -> dict[str, str]:
        """Its options by name."""
        return dict(line.split(": ", 1) for line in self.options.splitlines())


_TV, _DF, _MONAI, _PYG, _OWN = (
    "torchvision.models.",
    "diffusers.",
    "monai.networks.nets.",
    "torch_geometric.nn.",
    "gallery.models.",
)
_HF = "transformers"
_IMAGE = "shape: 1,3,224,224"
_MEDICAL = "spatial_dims=2, in_channels=1, out_channels=2"

PAGES: dict[str, tuple[str, tuple[Entry, ...]]] = {}
PAGES["images"] = (
    "Classification of images",
    (
        Entry("AlexNet", "classification", f"{_TV}alexnet", _IMAGE),
        Entry("GoogLeNet", "classification", f"{_TV}googlenet(aux_logits=False, init_weights=False)", _IMAGE),
        Entry("ResNet-50", "classification", f"{_TV}resnet50"),
        Entry("DenseNet-121", "classification", f"{_TV}densenet121", _IMAGE),
        Entry("MobileNetV3 large", "classification", f"{_TV}mobilenet_v3_large", _IMAGE),
        Entry(
            "EfficientNet B0",
            "classification",
            "efficientnet_pytorch.EfficientNet.from_name('efficientnet-b0')",
            _IMAGE,
        ),
        Entry("DLA-34", "classification", "pytorchcv.model_provider.get_model('dla34')", _IMAGE),
        Entry("ConvNeXt tiny", "classification", f"{_TV}convnext_tiny", _IMAGE),
        Entry("Vision transformer", "classification, encoder", f"{_TV}vit_b_16", _IMAGE),
        Entry(
            "Simple ViT",
            "classification, encoder",
            "vit_pytorch.SimpleViT(image_size=256, patch_size=32, num_classes=1000, dim=1024, depth=6, heads=16, mlp_dim=2048)",
            "shape: 1,3,256,256",
        ),
        Entry("Swin transformer tiny", "classification, encoder", f"{_TV}swin_t", _IMAGE),
        Entry("MLP-Mixer", "classification", "timm.create_model('mixer_b16_224')"),
        Entry("DaViT tiny", "classification, encoder", "timm.create_model('davit_tiny')"),
    ),
)
PAGES["scenes"] = (
    "Detection, segmentation, U-Nets",
    (
        Entry("DETR", "detection, encoder-decoder", f"{_OWN}detr", "shape: 1,3,800,800", _HF),
        Entry("RT-DETR", "detection, encoder-decoder", f"{_OWN}rt_detr", "shape: 1,3,640,640", _HF),
        Entry("YOLOS small", "detection, encoder", f"{_OWN}yolos", "shape: 1,3,512,864", _HF),
        Entry(
            "DeepLabV3+",
            "segmentation",
            "segmentation_models_pytorch.DeepLabV3Plus(encoder_name='resnet34', encoder_weights=None)",
            _IMAGE,
        ),
        Entry("SegFormer B0", "segmentation", f"{_OWN}segformer", "shape: 1,3,512,512", _HF),
        Entry(
            "Image encoder of Segment Anything",
            "segmentation, encoder",
            "segment_anything.modeling.ImageEncoderViT(use_rel_pos=True, window_size=14, global_attn_indexes=(2, 5, 8, 11))",
            "shape: 1,3,1024,1024\nrun: fake",
        ),
        Entry(
            "U-Net",
            "U-Net, segmentation",
            f"{_MONAI}BasicUNet(spatial_dims=2, in_channels=1, out_channels=2, features=(64, 128, 256, 512, 1024, 64))",
            "shape: 1,1,512,512",
        ),
        Entry(
            "U-Net with ResNet-34",
            "U-Net, segmentation",
            "segmentation_models_pytorch.Unet(encoder_name='resnet34', encoder_weights=None)",
            _IMAGE,
        ),
        Entry(
            "Attention U-Net",
            "U-Net, segmentation",
            f"{_MONAI}AttentionUnet({_MEDICAL}, channels=(64, 128, 256, 512), strides=(2, 2, 2))",
            "shape: 1,1,256,256",
        ),
        Entry("SegResNet", "segmentation", f"{_MONAI}SegResNet(spatial_dims=2, init_filters=16)", "shape: 1,1,256,256"),
        Entry("LoFTR", "matching of images", "kornia.feature.LoFTR(pretrained=None)"),
    ),
)
PAGES["language"] = (
    "Language, and language with images",
    (
        Entry(
            "Transformer",
            "encoder-decoder",
            "torch.nn.Transformer(batch_first=True)",
            "shape: src=1,10,512; tgt=1,8,512",
        ),
        Entry("BERT base", "encoder", f"{_OWN}bert", "", _HF),
        Entry("GPT-2", "decoder", f"{_OWN}gpt2", "", _HF),
        Entry("T5 small", "encoder-decoder", f"{_OWN}t5", "", _HF),
        Entry(
            "Decoder with rotary positions",
            "decoder",
            f"{_OWN}rotary_decoder",
            "shape: int64[1,128]<20000",
            "x_transformers",
        ),
        Entry("Llama 2 70B", "decoder", f"{_OWN}llama_70b", "", _HF),
        Entry("Mixtral 8x7B", "MoE, decoder", f"{_OWN}mixtral", "", _HF),
        Entry("Qwen3 MoE", "MoE, decoder", f"{_OWN}qwen3_moe", "", _HF),
        Entry("Mamba", "state space", f"{_OWN}mamba", "", _HF),
        Entry("Mamba 2", "state space", f"{_OWN}mamba2", "", _HF),
        Entry("CLIP", "multimodal, encoder", f"{_OWN}clip", "", _HF),
        Entry(
            "LLaVA, narrow",
            "multimodal, decoder",
            f"{_OWN}llava",
            "inputs: gallery.models.question_about_an_image",
            _HF,
        ),
    ),
)
PAGES["sound"] = (
    "Speech and music",
    (
        Entry("Whisper base", "speech, encoder-decoder", f"{_OWN}whisper", "", _HF),
        Entry("wav2vec 2.0", "speech, encoder", f"{_OWN}wav2vec2", "shape: 1,16000", _HF),
        Entry(
            "Conformer",
            "speech, encoder",
            "torchaudio.models.Conformer(input_dim=80, num_heads=4, ffn_dim=128, num_layers=4, depthwise_conv_kernel_size=31)",
            "",
        ),
        Entry("Conv-TasNet", "speech", "torchaudio.models.conv_tasnet_base()", "shape: 1,1,16000"),
        Entry("DeepSpeech", "speech, recurrent", "torchaudio.models.DeepSpeech(80)", ""),
        Entry(
            "CRDNN",
            "speech, recurrent",
            "speechbrain.lobes.models.CRDNN:CRDNN(input_shape=[1, 100, 80])",
            "shape: 1,100,80",
        ),
        Entry("ECAPA-TDNN", "speech", "speechbrain.lobes.models.ECAPA_TDNN:ECAPA_TDNN(80)", "shape: 1,200,80"),
        Entry(
            "Hybrid Demucs",
            "music, recurrent, U-Net",
            "torchaudio.models.hdemucs_low(['drums', 'bass', 'other', 'vocals'])",
            "shape: 1,2,65536",
        ),
        Entry("HiFi-GAN", "GAN, speech", f"{_OWN}hifigan", "", _HF),
    ),
)
PAGES["generation"] = (
    "Generation of images",
    (
        Entry(
            "U-Net of Stable Diffusion",
            "diffusion, U-Net",
            f"{_DF}UNet2DConditionModel(cross_attention_dim=768)",
            "shape: sample=1,4,64,64; timestep=int64[]; encoder_hidden_states=1,77,768",
        ),
        Entry(
            "Autoencoder of Stable Diffusion",
            "diffusion, autoencoder",
            f"{_DF}AutoencoderKL(block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4, down_block_types=('DownEncoderBlock2D', 'DownEncoderBlock2D', 'DownEncoderBlock2D', 'DownEncoderBlock2D'), up_block_types=('UpDecoderBlock2D', 'UpDecoderBlock2D', 'UpDecoderBlock2D', 'UpDecoderBlock2D'))",
            "shape: 1,3,256,256",
        ),
        Entry(
            "DiT-XL/2",
            "diffusion",
            f"{_DF}DiTTransformer2DModel(num_attention_heads=16, attention_head_dim=72, num_layers=28)",
            "",
        ),
        Entry("Stable Diffusion 3", "diffusion, multimodal", f"{_DF}SD3Transformer2DModel()", ""),
        Entry("FLUX.1", "diffusion", f"{_OWN}flux", "", "diffusers"),
        Entry(
            "U-Net of DDPM",
            "diffusion, U-Net",
            "denoising_diffusion_pytorch.Unet(dim=64, flash_attn=False)",
            "shape: x=1,3,64,64; time=int64[1]",
        ),
        Entry(
            "Discriminator of image patches",
            "GAN",
            f"{_MONAI}PatchDiscriminator(spatial_dims=2, in_channels=3, channels=64)",
            "shape: 1,3,256,256",
        ),
    ),
)
PAGES["graphs"] = (
    "Graphs, recommenders, tables, series",
    (
        Entry("GCN", "graph", f"{_PYG}GCN(1433, 16, 2, out_channels=7)"),
        Entry("GAT", "graph", f"{_PYG}GAT(1433, 64, 2, out_channels=7, heads=8)"),
        Entry("GraphSAGE", "graph", f"{_PYG}GraphSAGE(100, 256, 3, out_channels=47)"),
        Entry("Graph U-Net", "graph, U-Net", f"{_PYG}GraphUNet(32, 64, 7, depth=3)"),
        Entry("LightGCN", "recommender, graph", f"{_PYG}LightGCN(1000, 64, 3)"),
        Entry(
            "FT-Transformer",
            "tables, encoder",
            "rtdl_revisiting_models.FTTransformer(n_cont_features=8, cat_cardinalities=[4, 5], d_out=1, n_blocks=3, d_block=192, attention_n_heads=8, attention_dropout=0.2, ffn_d_hidden_multiplier=1.33, ffn_dropout=0.1, residual_dropout=0.0)",
            "shape: x_cont=4,8; x_cat=int64[4,2]<4",
        ),
        Entry("PatchTST", "series, encoder", f"{_OWN}time_series", "shape: 1,512,7", _HF),
    ),
)

FIGURES = {
    "AlexNet": (
        "Figure 2 of Krizhevsky et al. (2012) draws volumes by their size, from left to right, in two rows for two GPUs, with"
        " kernel, stride and channels written at each. Here a layer is a line with the same numbers, and one GPU is enough:"
        " the two rows are in no code. Sizes are words, not lengths."
    ),
    "ResNet-50": (
        "Figure 3 of He et al. (2015) has a line for each layer, `/2` where the resolution halves, dotted shortcuts where sizes"
        " change, and Figure 5 the bottleneck apart. Here a stage is a line with the number of its blocks, the bottleneck"
        " stands beside it under a letter, and sizes are on the edges; shortcuts are seen in the block only."
    ),
    "Vision transformer": (
        "Figure 1 of Dosovitskiy et al. (2020) has the overview at the left and one block at the right, tokens as a row of"
        " patches of a photograph. Here the block is open in place with its count, class token and positions are named; the"
        " patches are a convolution, as in the code, and there is no photograph."
    ),
    "DETR": (
        "Figure 2 of Carion et al. (2020) has four parts from left to right: backbone, encoder, decoder, heads, with object"
        " queries from below. Here the same four stand below one another, and the queries beside the layers of the decoder."
    ),
    "U-Net": (
        "Figure 1 of Ronneberger et al. (2015) is a U: a row for each resolution, skips as horizontal arrows, a legend of five"
        " colours. Here the rows are those of the code's blocks; there is no legend, since kinds have their colours in"
        " all pictures."
    ),
    "Transformer": (
        "Figure 1 of Vaswani et al. (2017): two towers side by side, `N×` at each, residuals at one distance, sum and norm as"
        " one element, attention in a second figure. Here two towers with `×6` in the title; sum and norm are two nodes,"
        " because pre-norm and post-norm blocks would look alike otherwise."
    ),
    "BERT base": (
        "Figure 1 of Devlin et al. (2018) says what inputs and outputs are used for in training, with tokens as a row, and"
        " draws the layers as one box of arrows. That use is not in the code; what is, the three embeddings and the"
        " layer with its `×12`, the figure leaves out."
    ),
    "Mixtral 8x7B": (
        "Figure 1 of Jiang et al. (2024) is one layer of experts: a router, eight experts of which two are marked, a sum by"
        " weights. Here it is the same layer inside of the decoder; that the sum is by weights is not said."
    ),
    "Whisper base": (
        "Figure 1 of Radford et al. (2022): encoder and decoder blocks side by side, cross attention as an arrow to each, the"
        " spectrogram and the tokens as pictures. Here the towers are the same, with one arrow into the repeated"
        " block, and no pictures of data."
    ),
    "U-Net of Stable Diffusion": (
        "Figure 3 of Rombach et al. (2021) has areas for pixels, latents and conditioning, attention at each level, and the loop"
        " over steps. Here it is the net that the loop calls; text and time step are tags at the blocks that read them."
    ),
}
"""The figures of ten papers in words, and how ours differ; `docs/design/2026-11-22-beside-figures-of-papers.md`."""
