// A link with a delay: two network devices of this process (TUN), one of them in its own network namespace. Each packet
// leaves at the other end after the delay. The kernel's TCP runs on both ends, so windows, segments of an MTU of 1500
// and acknowledgements are realistic. Needs root. The kernel's netem would do the same, but it is not available
// everywhere.

import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

final class DelayedLink {
  private static let (near, far) = ("photod-b0", "photod-b1")

  private let space: String
  private let ends: [Int32]
  private let isOver = IsOver()
  private let group = DispatchGroup()

  private final class IsOver: Sendable {
    let flag = Atomic<Bool>(false)
  }

  /// - Parameters:
  ///   - space: the namespace of the far end; created here, and removed with this object.
  ///   - oneWay: seconds.
  init(_ space: String, near nearAddress: String, far farAddress: String, oneWay: Double) throws {
    self.space = space
    _ = try? Command(["ip", "netns", "del", space]).usage(hiding: 2)
    ends = try [Self.open(Self.near), Self.open(Self.far)]
    let inside = "ip netns exec \(space)"
    for line in [
      "ip netns add \(space)", "ip link set \(Self.far) netns \(space)",
      "ip addr add \(nearAddress)/24 dev \(Self.near)", "ip link set \(Self.near) mtu 1500 up",
      "\(inside) ip addr add \(farAddress)/24 dev \(Self.far)", "\(inside) ip link set \(Self.far) mtu 1500 up",
    ] { try Command(line.split(separator: " ").map(String.init)).run() }
    for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
      group.enter()
      Thread.detachNewThread { [isOver, group] in
        Self.forward(from, to, oneWay, isOver)
        group.leave()
      }
    }
  }

  deinit {
    isOver.flag.store(true, ordering: .relaxed)
    group.wait()
    for end in ends { close(end) }
    _ = try? Command(["ip", "netns", "del", space]).usage(hiding: 2)
  }

  /// Opens a device for raw packets: `struct ifreq` is a name of 16 bytes, and flags.
  private static func open(_ name: String) throws -> Int32 {
    let device = Glibc.open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard device >= 0 else { throw BenchError(description: "/dev/net/tun can't be opened: it takes root") }
    var request = Array(name.utf8) + Array(repeating: 0, count: 40 - name.utf8.count)
    let (tun, withoutHead, setInterface): (UInt16, UInt16, UInt) = (0x0001, 0x1000, 0x4004_54CA)
    let flags = tun | withoutHead
    (request[16], request[17]) = (UInt8(flags & 255), UInt8(flags >> 8))
    guard request.withUnsafeMutableBytes({ ioctl(device, setInterface, $0.baseAddress!) }) == 0 else {
      throw BenchError(description: "the device \(name) can't be made: \(String(cString: strerror(errno)))")
    }
    return device
  }

  /// Forwards packets until the link ends.
  private static func forward(_ from: Int32, _ to: Int32, _ oneWay: Double, _ isOver: IsOver) {
    var packets: [(due: Double, bytes: [UInt8])] = []
    var first = 0
    var buffer = [UInt8](repeating: 0, count: 2048)
    while !isOver.flag.load(ordering: .relaxed) {
      let wait = first < packets.count ? max(0, packets[first].due - HTTPClient.now()) : 0.1
      var waiting = pollfd(fd: from, events: Int16(POLLIN), revents: 0)
      _ = poll(&waiting, 1, Int32(wait * 1000))
      // Waits for the remaining part of a millisecond.
      if waiting.revents == 0, wait > 0, wait < 0.1 { usleep(UInt32(wait * 1e6) % 1000) }
      while true {
        let count = read(from, &buffer, buffer.count)
        guard count > 0 else { break }
        packets.append((HTTPClient.now() + oneWay, Array(buffer[..<count])))
      }
      let now = HTTPClient.now()
      while first < packets.count, packets[first].due <= now {
        _ = packets[first].bytes.withUnsafeBytes { write(to, $0.baseAddress, $0.count) }
        first += 1
      }
      if first == packets.count {
        packets.removeAll(keepingCapacity: true)
        first = 0
      }
    }
  }
}
