#!/usr/bin/env bash
# Boots the guest that guest.sh made, with its port at a socket at which `xoff attach unix:SOCKET` waits, runs one command
# in it and prints what it says. ADDRESS and MAC are the port's, if not 192.0.2.1 and 52:54:00:00:00:01. QMP is the path
# of a socket at which QEMU's monitor is to be, for `xoff attach --step 50us --qmp unix:PATH`.
#
#   tools/interop/boot.sh FOLDER SOCKET COMMAND…
set -euo pipefail
guest=${1:?usage: boot.sh FOLDER SOCKET COMMAND…} socket=${2:?usage: boot.sh FOLDER SOCKET COMMAND…}
shift 2
offloads=csum=off,guest_csum=off,gso=off
for side in host guest; do
    for what in tso4 tso6 ecn ufo; do offloads+=,${side}_$what=off; done
done
monitor=()
[ -z "${QMP:-}" ] || monitor=(-qmp "unix:$QMP,server=on,wait=off")
exec qemu-system-x86_64 -accel tcg -M pc,usb=off -cpu max -m 384 -smp 1 -nodefaults -no-user-config -display none \
    -no-reboot -rtc clock=vm ${monitor[@]+"${monitor[@]}"} -kernel "$guest/vmlinuz" -initrd "$guest/initramfs.gz" \
    -append "console=ttyS0 loglevel=4 panic=-1 mitigations=off ADDRESS=${ADDRESS:-192.0.2.1} RUN=\"$*\"" -serial stdio \
    -netdev "stream,id=net0,server=off,addr.type=unix,addr.path=$socket" \
    -device "virtio-net-pci,netdev=net0,mac=${MAC:-52:54:00:00:00:01},romfile=,$offloads"
