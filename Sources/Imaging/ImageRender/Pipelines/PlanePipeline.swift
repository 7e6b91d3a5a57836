import ImageCodec
import PhotoModel

/// Decodes a YCbCr JPEG into its three planes.
final class PlanePipeline: DecodedRowDistributor<PlaneOutput>, RenderPipeline, PlaneConsumer {
  private let planes: JPEGPlaneDecoder

  init(_ decoder: JPEGPlaneDecoder, _ branches: [Branch]) {
    planes = decoder
    super.init(branches, leavesEarly: true)
  }

  var decoder: any PictureDecoder { planes }

  func decode(_ outputFinished: @escaping OutputFinished) -> DecodeOutcome {
    run(outputFinished) { () throws(CodecError) in try planes.decode(into: self) }
  }

  func space(forRow y: Int, ofPlane plane: Int) -> UnsafeMutablePointer<UInt8> {
    branches[0].output.space(forRow: y, ofPlane: plane)
  }

  func groupArrived(_ group: Int) -> Bool {
    if branches.count > 1 {
      for (plane, layout) in planes.planes.enumerated() {
        for y in group * layout.rowsPerGroup..<(group + 1) * layout.rowsPerGroup {
          let row = space(forRow: y, ofPlane: plane)
          for branch in branches.dropFirst() {
            branch.output.space(forRow: y, ofPlane: plane).update(from: row, count: layout.rowBytes)
          }
        }
      }
    }
    return advance { $0.groupArrived(group) }
  }
}
