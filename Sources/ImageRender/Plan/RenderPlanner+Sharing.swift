import ImageCodec
import PhotoModel

extension RenderPlanner {
  /// What decides whether a picture can share a decode, before it is planned.
  private struct Candidate {
    /// Pictures of different ways can't be fed by one decoder.
    enum Way: Hashable {
      case planes, rows
      /// Planes, unless the original's colours need converting: that is known when its profile has been read.
      case planesUnlessConverted
    }

    let request: Int
    let region: PixelRegion
    let eighths: Int
    let way: Way
  }

  /// The plan of the first request's picture, and with it of those others that cost less by the same decode than alone
  /// (``DecodeCost``): at most ``SharedPlan/maximumMembers``. The decode is made at the largest DCT scale that a member
  /// needs. Members stand in the order of their requests.
  ///
  /// A crop that shows little seldom shares with the whole picture: alone it costs a third of a decode, and by rows.
  ///
  /// - Parameters:
  ///   - requests: at least one.
  ///   - extras: pictures that nobody waits for, such as rungs of the ladder: they come along only if they fit the decode
  ///     that the requests need anyway. They count on behind the requests: the first is `requests.count`.
  /// - Complexity: quadratic in the number of requests, which is looked at only up to ``consideredRequests``.
  package func sharedPlan(
    _ header: ImageHeader, _ requests: [ImageRequest], extras: [ImageRequest] = []
  ) -> SharedPlan {
    precondition(!requests.isEmpty)
    let cost = DecodeCost(header)
    func total(_ group: [Candidate]) -> Double {
      cost(
        group.map(\.region), eighths: group.map(\.eighths).max() ?? 8, inPlanes: group.allSatisfy { $0.way != .rows })
    }
    var group = [candidate(header, requests[0], 0)]
    var others = requests.prefix(Self.consideredRequests).enumerated().dropFirst()
      .map { candidate(header, $1, $0) }
      .filter { $0.way == group[0].way }
    // The one that saves most, over and over: a large scale that is there already makes the next one cheaper.
    while group.count < SharedPlan.maximumMembers {
      let current = total(group)
      let savings = others.map { current + total([$0]) - total(group + [$0]) }
      guard let best = savings.indices.max(by: { savings[$0] < savings[$1] }), savings[best] > 0 else { break }
      group.append(others.remove(at: best))
    }
    let eighths = group.map(\.eighths).max() ?? 8
    for (i, extra) in extras.enumerated() where group.count < SharedPlan.maximumMembers {
      let extra = candidate(header, extra, requests.count + i)
      if extra.way == group[0].way && extra.eighths <= eighths { group.append(extra) }
    }
    let all = requests + extras
    return SharedPlan(
      group.sorted { $0.request < $1.request }
        .map { SharedPlan.Member(request: $0.request, plan: plan(header, all[$0.request], eighths: eighths)) })
  }

  /// Requests beyond so many are not looked at.
  package static let consideredRequests = 32

  private func candidate(_ header: ImageHeader, _ request: ImageRequest, _ index: Int) -> Candidate {
    let shape = shape(header, request, eighths: nil)
    var way = Candidate.Way.rows
    if request.format == .jpeg && PlanePlanner.staysInPlanes(header, shape) {
      way = header.mayConvert(to: request.colorSpace) ? .planesUnlessConverted : .planes
    }
    return Candidate(request: index, region: shape.region, eighths: shape.eighths, way: way)
  }
}
