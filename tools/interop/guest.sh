#!/usr/bin/env bash
# Makes the guest of `make interop` in a folder: Debian's kernel as vmlinuz, and initramfs.gz with busybox, the modules
# of rdma_rxe and the tools of libibverbs, librdmacm and perftest, unchanged. Installs the packages that are missing.
# Does nothing if the guest is there.
#
#   tools/interop/guest.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: guest.sh FOLDER}
packages=(qemu-system-x86=qemu-system-x86_64 busybox-static=busybox ibverbs-utils=ibv_rc_pingpong rdmacm-utils=rping
    perftest=ib_send_bw iproute2=ip kmod=depmod cpio xz-utils=xz python3)
tools=(ip tc rdma ibv_rc_pingpong ibv_devinfo rping ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw)
modules=(virtio_pci virtio_net crc32_generic crc32c_generic rdma_rxe rdma_ucm sch_netem)

sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
missing=()
for package in "${packages[@]}"; do
    command -v "${package#*=}" >/dev/null || missing+=("${package%%=*}")
done
# These have no program.
driver=/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so
[ -e "$driver" ] || missing+=(ibverbs-providers)
[ -e /usr/share/seabios/bios-256k.bin ] || missing+=(seabios)
if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || {
        echo "interop: missing: ${missing[*]}. They are packages of Debian 12; install them by hand." >&2
        exit 1
    }
    echo "interop: installing ${missing[*]}"
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

mkdir -p "$out"
out=$(cd "$out" && pwd)
[ ! "$out/initramfs.gz" -nt "$here/init" ] || [ ! "$out/initramfs.gz" -nt "$here/guest.sh" ] || exit 0

# The kernel's package is unpacked and not installed: this machine boots as ever.
if [ ! -e "$out/vmlinuz" ]; then
    image() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1; }
    name=$(image)
    [ -n "$name" ] || { $sudo apt-get update -qq; name=$(image); }
    [ -n "$name" ] || { echo "interop: no package linux-image-amd64, of which the guest's kernel is" >&2; exit 1; }
    echo "interop: unpacking $name"
    rm -rf "$out/kernel" "$out"/linux-image-*.deb
    (cd "$out" && apt-get download -qq "$name" && dpkg -x linux-image-*.deb kernel && rm linux-image-*.deb)
    cp "$out"/kernel/boot/vmlinuz-* "$out/vmlinuz"
fi
version=$(basename "$out"/kernel/lib/modules/*)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,dev,etc/libibverbs.d,lib64,modules,proc,run,sys,tmp,usr/bin,usr/lib/x86_64-linux-gnu/libibverbs}
cp "$(command -v busybox)" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
cp "$here/init" "$root/init"
ln -s usr/lib "$root/lib"

libraries() {
    ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
        case $library in
        */ld-linux*) cp -nL "$library" "$root/lib64/" ;;
        *) cp -nL "$library" "$root/usr/lib/x86_64-linux-gnu/" ;;
        esac
    done
}
for tool in "${tools[@]}"; do
    path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$tool")
    cp -L "$path" "$root/usr/bin/"
    libraries "$path"
done
# By this glibc ends threads, and names it nowhere.
cp -L /lib/x86_64-linux-gnu/libgcc_s.so.1 "$root/usr/lib/x86_64-linux-gnu/"
cp -L "$driver" "$root/usr/lib/x86_64-linux-gnu/libibverbs/"
libraries "$driver"
echo "driver rxe" >"$root/etc/libibverbs.d/rxe.driver"

# Each module behind those that it needs.
depmod -b "$out/kernel" "$version"
folder=$out/kernel/lib/modules/$version
: >"$root/modules/order"
add() {
    local module=$1 name needed
    name=$(basename "${module%.xz}")
    ! grep -qx "$name" "$root/modules/order" || return 0
    for needed in $(sed -n "s|^$module: *||p" "$folder/modules.dep" | tr ' ' '\n' | tac); do add "$needed"; done
    case $module in
    *.xz) xz -dc "$folder/$module" >"$root/modules/$name" ;;
    *) cp "$folder/$module" "$root/modules/$name" ;;
    esac
    echo "$name" >>"$root/modules/order"
}
for module in "${modules[@]}"; do
    path=$(sed -n "s|^\([^:]*/$module\.ko\(\.xz\)\?\):.*|\1|p" "$folder/modules.dep")
    # One that is not there is built in.
    [ -z "$path" ] || add "$path"
done
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -9) >"$out/initramfs.new"
mv "$out/initramfs.new" "$out/initramfs.gz"
echo "interop: guest of Linux $version in $out"
