import ImageCodec
import PhotoModel

/// How several pictures get from one original to their outputs by one decode; or one picture alone.
package struct SharedPlan: Sendable, Hashable {
  /// A picture of the group.
  package struct Member: Sendable, Hashable {
    /// Which of the requests that the plan was asked for it answers.
    package let request: Int
    /// Its own plan, at the scale that the group is decoded at.
    package let plan: RenderPlan
  }

  /// The most pictures that one decode feeds: each has an encoder and rows of its own.
  package static let maximumMembers = 8

  /// At least one; they agree in header, DCT scale, and whether they stay in planes.
  package let members: [Member]

  /// A group of one.
  package init(_ plan: RenderPlan) {
    self.init([Member(request: 0, plan: plan)])
  }

  init(_ members: [Member]) {
    precondition(!members.isEmpty && members.count <= Self.maximumMembers)
    self.members = members
  }

  /// The same decode for some of the members alone: at least one.
  package func keeping(_ isKept: (Member) -> Bool) -> SharedPlan { SharedPlan(members.filter(isKept)) }

  package var header: ImageHeader { members[0].plan.header }
  /// The DCT scale in eighths: the largest that any member needs.
  package var eighths: Int { members[0].plan.eighths }
  var firstScanOnly: Bool { members[0].plan.firstScanOnly }
  /// Decoded as planes of YCbCr, unless colours turn out to need converting: then all members' do.
  var staysInPlanes: Bool { members.allSatisfy { !$0.plan.planes.isEmpty } }

  /// The pixels that any member shows, at the DCT scale, with the kernels' reach.
  package var decodedRegion: PixelRect {
    let regions = members.map(\.plan.decodedRegion)
    let (left, top) = (regions.map(\.x).min() ?? 0, regions.map(\.y).min() ?? 0)
    let right = regions.map { $0.x + $0.width }.max() ?? 0
    let bottom = regions.map { $0.y + $0.height }.max() ?? 0
    return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
  }

  /// Memory that the render takes at its height, over-estimated rather than under-: one decoder, and each member's own.
  package var peakBytes: Int {
    (members.map(\.plan.price.sourceBytes).max() ?? 0) + members.reduce(0) { $0 + $1.plan.price.outputBytes }
  }
}
