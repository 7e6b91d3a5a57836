import CPhotodKernels
import PhotoFixtures
import Testing

/// Each version computes what the plain one computes, bit for bit, in buffers that end at a guard page.
@Suite("Integer kernels")
struct IntegerKernelTests {
  private static let slackBytes = Int(PHOTOD_KERNEL_SLACK)
  private static let bandRows = Int(PHOTOD_BAND_ROWS)
  /// On both sides of each number of samples that a version processes at a time.
  private static let widths = [1, 3, 4, 15, 16, 17, 31, 32, 33, 64, 65]
  private static let taps = [2, 4, 6, 8, 62]
  private static let lastStart: Int32 = 20

  /// Where the taps of each output sample start. The last one's end where the row ends.
  private static func starts(_ width: Int, _ random: inout SplitMix) -> [Int32] {
    (1..<width).map { _ in Int32.random(in: 0...lastStart, using: &random) } + [lastStart]
  }

  /// Neighbouring values in pairs, the first in the low half.
  private static func pairs(_ values: [Int16]) -> [Int32] {
    (0..<values.count / 2).map { index -> Int32 in
      let low = UInt32(UInt16(bitPattern: values[2 * index]))
      let high = UInt32(UInt16(bitPattern: values[2 * index + 1]))
      return Int32(bitPattern: low | high << 16)
    }
  }

  @Test("each version that the processor can run is compared with the plain one")
  func versions() {
    let names = KernelVersion.all.map { $0.testDescription }
    #if arch(x86_64)
      #expect([["plain", "SSE2"], ["plain", "SSE2", "AVX2"]].contains(names))
    #else
      #expect(names == ["plain"])
    #endif
  }

  @Test("the vertical pass equals the plain one", arguments: KernelVersion.all, KernelValues.allCases)
  func vertical(_ version: KernelVersion, _ values: KernelValues) {
    var random = Sampling.generator("vertical kernel")
    for taps in Self.taps {
      for count in Self.widths {
        let rows = (0..<taps).map { _ in values.bytes(count, &random) }
        let weights = values.weights(taps, &random)
        GuardedMemory.use { memory in
          let pointers: [UnsafePointer<UInt8>?] = rows.map { memory.copy($0, slackBytes: Self.slackBytes) }
          let rowPointers = memory.copy(pointers)
          let weightPointer = memory.copy(weights)
          let results = [KernelVersion.plain, version].map { version -> [Int16] in
            let output = memory.space(count, of: Int16.self)
            version.kernels.vertical_u8(rowPointers, weightPointer, Int32(taps), output, count)
            return Array(UnsafeMutableBufferPointer(start: output, count: count))
          }
          #expect(results[0] == results[1], "\(taps) taps, \(count) samples, \(Sampling.note)")
        }
      }
    }
  }

  @Test("the horizontal pass equals the plain one", arguments: KernelVersion.all, KernelValues.allCases)
  func horizontal(_ version: KernelVersion, _ values: KernelValues) {
    var random = Sampling.generator("horizontal kernel")
    for channels in [1, 3, 4] {
      // The kernel for one channel takes eight taps at a time.
      for taps in channels == 1 ? [8, 16, 64] : Self.taps {
        for width in Self.widths {
          let starts = Self.starts(width, &random)
          let row = values.samples((Int(Self.lastStart) + taps) * channels, &random)
          let weights = (0..<width).flatMap { _ in values.weights(taps, &random) }
          GuardedMemory.use { memory in
            let rowPointer = memory.copy(row, slackBytes: Self.slackBytes)
            let startPointer = memory.copy(starts)
            let weightPointer = memory.copy(weights)
            let results = [KernelVersion.plain, version].map { version -> [UInt8] in
              let output = memory.space(width * channels, of: UInt8.self)
              version.kernels.horizontal_u8(
                rowPointer, startPointer, weightPointer, Int32(taps), Int32(channels), output, width)
              return Array(UnsafeMutableBufferPointer(start: output, count: width * channels))
            }
            #expect(
              results[0] == results[1], "\(taps) taps, \(channels) channels, \(width) pixels, \(Sampling.note)")
          }
        }
      }
    }
  }

  @Test("a band equals the plain one", arguments: KernelVersion.all)
  func band(_ version: KernelVersion) {
    var random = Sampling.generator("band kernel")
    for pairs in [4, 8, 12, 20] {
      for stride in [2 * pairs, 2 * pairs + 3] {
        let rows = KernelValues.random.samples((Self.bandRows - 1) * stride + 2 * pairs, &random)
        GuardedMemory.use { memory in
          let rowPointer = memory.copy(rows)
          let results = [KernelVersion.plain, version].map { version -> [Int32] in
            let output = memory.space(pairs * Self.bandRows, of: Int32.self)
            version.kernels.band_u8(rowPointer, stride, pairs, output)
            return Array(UnsafeMutableBufferPointer(start: output, count: pairs * Self.bandRows))
          }
          #expect(results[0] == results[1], "\(pairs) pairs, \(stride) samples a row, \(Sampling.note)")
        }
      }
    }
  }

  @Test("the horizontal pass of a band equals the plain one", arguments: KernelVersion.all, KernelValues.allCases)
  func bandHorizontal(_ version: KernelVersion, _ values: KernelValues) {
    var random = Sampling.generator("horizontal kernel of bands")
    for pairs in [1, 2, 3, 4, 31] {
      for rowCount in [1, 15, 16] {
        for width in [1, 15, 16, 17, 33] {
          let starts = Self.starts(width, &random)
          let band = Self.pairs(values.samples(2 * (Int(Self.lastStart) + pairs) * Self.bandRows, &random))
          let weights = Self.pairs((0..<width).flatMap { _ in values.weights(2 * pairs, &random) })
          GuardedMemory.use { memory in
            let bandPointer = memory.copy(band)
            let startPointer = memory.copy(starts)
            let weightPointer = memory.copy(weights)
            let results = [KernelVersion.plain, version].map { version -> [[UInt8]] in
              let rows = (0..<rowCount).map { _ in memory.space(width, of: UInt8.self) }
              let pointers: [UnsafeMutablePointer<UInt8>?] = rows
              version.kernels.band_horizontal_u8(
                bandPointer, startPointer, weightPointer, Int32(pairs), memory.copy(pointers), Int32(rowCount), width)
              return rows.map { Array(UnsafeMutableBufferPointer(start: $0, count: width)) }
            }
            #expect(results[0] == results[1], "\(pairs) pairs, \(rowCount) rows, \(width) pixels, \(Sampling.note)")
          }
        }
      }
    }
  }
}
