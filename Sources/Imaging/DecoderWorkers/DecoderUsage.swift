import CPhotodDecoder
import Synchronization

/// CPU time and memory of workers, as the kernel reports them to their zygote.
package struct DecoderUsage: Sendable, Hashable {
  /// User and system time of all workers together.
  package private(set) var cpuTime = Duration.zero
  /// The largest resident set of one worker, with pages that it shared with its zygote and this process.
  package private(set) var peakBytes = 0

  init() {}

  init(_ status: decoder_status) {
    cpuTime = .microseconds(Int64(clamping: status.cpu_microseconds))
    peakBytes = Int(clamping: status.peak_bytes)
  }

  mutating func add(_ other: DecoderUsage) {
    cpuTime += other.cpuTime
    peakBytes = max(peakBytes, other.peakBytes)
  }
}

/// The usage of each codec's workers since the start.
final class DecoderUsages: Sendable {
  private let state = Mutex<[DecoderCodec: DecoderUsage]>([:])

  func add(_ usage: DecoderUsage, _ codec: DecoderCodec) {
    state.withLock { $0[codec, default: DecoderUsage()].add(usage) }
  }

  func usage(of codec: DecoderCodec) -> DecoderUsage { state.withLock { $0[codec] ?? DecoderUsage() } }
}
