import CPhotodDecoder

/// Two connected sockets of messages: the daemon's own, and one that another process gets.
struct SocketPair: ~Copyable {
  let own: Descriptor
  let other: Descriptor

  /// `nil` if the process or the system has no more descriptors.
  init?() {
    var numbers: [Int32] = [-1, -1]
    guard photod_decoder_socketpair(&numbers) == 0 else { return nil }
    own = Descriptor(numbers[0])
    other = Descriptor(numbers[1])
  }

  /// Closes the other end here, and returns the own one.
  consuming func takeOwn() -> Descriptor { own }
}
