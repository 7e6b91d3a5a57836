import CPhotodBench
import Foundation

/// The lower limit for a render: a complete decode and an encode with the same codecs; see CPhotodBench.h.
///
/// A centre crop is decoded completely here, so a render that skips the invisible part can be faster.
final class CodecFloor {
  static let quality = 82
  /// The compression level of photod's PNGs.
  private static let compressionLevel: Int32 = 3

  private let handle: OpaquePointer
  private let file: UnsafeMutableRawBufferPointer

  /// `nil` if the chosen path does not apply to this picture.
  init?(_ benchPicture: BenchPicture, _ plan: PhotodCommand.Plan, eighths: Int, isPlanar: Bool) throws {
    guard let data = FileManager.default.contents(atPath: benchPicture.photograph.path) else {
      throw BenchError(description: "\(benchPicture.photograph.path) can't be read")
    }
    file = .allocate(byteCount: data.count, alignment: 16)
    data.copyBytes(to: file)
    let handle = photod_codec_floor_create(
      file.baseAddress, file.count,
      photod_codec_floor_options(
        width: UInt32(plan.storedOutput.width), height: UInt32(plan.storedOutput.height), eighths: Int32(eighths),
        planar: isPlanar, makes_png: benchPicture.format == "png", quality: Int32(Self.quality),
        compression_level: Self.compressionLevel))
    guard let handle else {
      file.deallocate()
      return nil
    }
    self.handle = handle
  }

  deinit {
    photod_codec_floor_destroy(handle)
    file.deallocate()
  }

  var contestant: Contestant {
    Contestant { pictures in
      try ProcessUsage.cpuSeconds {
        for _ in 0..<pictures {
          guard photod_codec_floor_decode(self.handle), photod_codec_floor_encode(self.handle) > 0 else {
            throw BenchError(description: "the codecs fail on a file that they accepted before")
          }
        }
      }
    }
  }
}
