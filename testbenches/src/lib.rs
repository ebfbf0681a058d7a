//! Co-simulates a RoCEv2 NIC pipeline with the network around it.
