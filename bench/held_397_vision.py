"""Nets of images and scenes as repositories write them, of the tenth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance before any was written: `TOPICS`, none of them, nor its family, of an earlier list, of which
`random.Random(397).sample(TOPICS.split(), 15)` are the nets of this file and of `held_397_sequences.py`.
"""

from __future__ import annotations

TOPICS = """
aasist action_chunking_transformer adabins adain_style alphastar attend_infer_repeat attention_model_tsp attngan autoint
autovc awd_lstm bc_resnet bmn caser chem_vae clam_mil code2vec commnet conv_knrm conve cpc crepe csdi da_rnn dccrn
deep_equilibrium deepar deepdta deepmedic deepsleepnet deepvoice3 draw_rnn e2e_coref eqtransformer evolvegcn fedformer
feudal_network fibinet fourcastnet fractalnet fullsubnet gail gdn gqn graph_matching_network gru4rec gvp hstu i2a
inception_time itransformer kan kpconv lama levenshtein_transformer lift_splat liif lipnet maddpg maskgit mcan megabyte
mind mixture_of_depths mult_vae music_transformer musicvae ncf neural_additive neural_motifs neural_relational_inference
node nrms omnianomaly on_lstm onsets_and_frames open_unmix option_critic pangu_weather partial_conv particle_transformer
performer pinn pointer_network pointrend pranet quartznet randla_net recurrent_entity_network ripplenet rt1 scgpt scinet
sentence_vae seqgan simgnn siren soft_moe solov2 sound_of_pixels sparse_rcnn spliceai sqlnet stm tabpfn trade_dst
trrosetta unimol usad value_iteration voicefilter wavegrad
"""
