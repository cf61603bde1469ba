"""Nets of images and scenes as repositories write them, of the fourth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance: `TOPICS`, written down before any net, none of them of an earlier list, split into words
and shuffled by `random.Random(173)`; the first fifteen are the nets of this file and of `held_173_sequences.py`.
"""

TOPICS = """
fcos yolact retinaface dbnet ocrnet modnet csrnet siamrpn loftr capsnet moco protopnet dann spade stargan rcan zero_dce
restormer rife two_stream videopose3d dgcnn votenet occupancy_network pixelnerf pcn meshcnn realnvp pixelcnn vqgan nvae
wavenet tacotron_gst glow_tts soundstream rnnt sincnet panns wav2lip bilstm_crf tree_lstm retnet retro colbert convs2s
hred timesnet tcn latent_ode grud anomaly_transformer tabnet saint bert4rec lightgcn dcn_v2 ple impala alphazero icm
diffusion_policy painn mpnn compgcn diffpool graphrnn hamiltonian_nn eegnet proteinmpnn graphcast scvi butd
tensor_fusion
"""
