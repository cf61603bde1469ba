"""Nets of images and scenes as repositories write them, of the sixth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance: `TOPICS`, written down before any net, none of them of an earlier list. Of `random.Random(251)`,
which shuffles first the words of the one string and then those of the other, the first eight are the nets of this file
and the first seven those of `held_251_sequences.py`.
"""

TOPICS = (
    """
fcos ocrnet csrnet siamrpn dann spade zero_dce restormer rife two_stream votenet pixelnerf pixelcnn vqgan nvae cyclegan
centernet cornernet openpose monodepth2 psmnet deepsdf bisenet tsm i3d darts arcface prototypical_network moco protopnet
videopose3d nafnet superpoint point_transformer craft edvr
""",
    """
tree_lstm colbert convs2s latent_ode saint bert4rec ple impala diffusion_policy painn compgcn diffpool graphrnn
graphcast panns qanet memn2n han biaffine_parser sasrec deeponet social_gan vectornet melgan s4 stgcn egnn lstnet
tacotron_gst timesnet tcn tabnet alphazero hamiltonian_nn eegnet scvi anomaly_transformer fno decision_transformer
""",
)
