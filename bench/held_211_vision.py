"""Nets of images and scenes as repositories write them, of the fifth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance: `TOPICS`, written down before any net, none of them of an earlier list. Of `random.Random(211)`,
which shuffles first the words of the one string and then those of the other, the first eight are the nets of this file
and the first seven those of `held_211_sequences.py`.
"""

TOPICS = (
    """
fcos retinaface ocrnet csrnet siamrpn loftr capsnet dann spade stargan zero_dce restormer rife two_stream dgcnn votenet
pixelnerf pixelcnn vqgan nvae cyclegan centernet openpose monodepth2 psmnet pointpillars deepsdf bisenet hmr film
relation_network tsm
""",
    """
tree_lstm retnet colbert convs2s latent_ode grud saint bert4rec lightgcn ple impala icm diffusion_policy painn compgcn
diffpool graphrnn graphcast panns qanet memn2n han biaffine_parser sasrec xdeepfm mmoe qmix deeponet enformer
social_gan vectornet melgan
""",
)
