import ImageCodec
import PhotoModel

/// How to make one or several outputs from one original in one decode.
package struct SharedPlan: Sendable, Hashable {
  /// One picture of the group.
  package struct Member: Sendable, Hashable {
    /// Index of the request that this member fulfils.
    package let requestIndex: Int
    /// The member's own plan, at the scale of the shared decode.
    package let plan: RenderPlan
  }

  /// Maximum number of pictures of one decode: each needs its own encoder and rows.
  package static let maximumMembers = 8

  /// At least one member. All have the same header and DCT scale, and either all stay in planes or none does.
  package let members: [Member]

  /// A group of one.
  package init(_ plan: RenderPlan) {
    self.init([Member(requestIndex: 0, plan: plan)])
  }

  init(_ members: [Member]) {
    precondition(!members.isEmpty && members.count <= Self.maximumMembers)
    self.members = members
  }

  /// The same decode with only some of the members: at least one.
  package func keeping(_ isKept: (Member) -> Bool) -> SharedPlan { SharedPlan(members.filter(isKept)) }

  package var header: ImageHeader { members[0].plan.header }
  /// The DCT scale in eighths: the largest that any member needs.
  package var eighths: Int { members[0].plan.eighths }
  var firstScanOnly: Bool { members[0].plan.firstScanOnly }
  /// Whether the decode delivers YCbCr planes. If colours turn out to need converting, that is true for all members.
  var staysInPlanes: Bool { members.allSatisfy { !$0.plan.planes.isEmpty } }

  /// The pixels that at least one member shows, at the DCT scale, including the kernels' reach.
  var decodedRegion: PixelRect {
    let regions = members.map(\.plan.decodedRegion)
    let (left, top) = (regions.map(\.x).min() ?? 0, regions.map(\.y).min() ?? 0)
    let right = regions.map { $0.x + $0.width }.max() ?? 0
    let bottom = regions.map { $0.y + $0.height }.max() ?? 0
    return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
  }

  /// Peak memory of the render, an upper estimate: one decoder, and each member's own part.
  package var peakBytes: Int {
    (members.map(\.plan.price.sourceBytes).max() ?? 0) + members.reduce(0) { $0 + $1.plan.price.outputBytes }
  }
}
