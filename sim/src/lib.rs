//! RoCEv2 networks around an RTL NIC: wire formats, reference models, network.
