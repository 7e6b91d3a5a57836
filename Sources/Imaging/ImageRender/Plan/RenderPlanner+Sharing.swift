import ImageCodec
import PhotoModel

extension RenderPlanner {
  /// The facts that decide, before planning, whether a picture can share a decode.
  private struct Candidate {
    /// Pictures of different kinds can't share a decoder.
    enum PipelineKind: Hashable {
      case planes, rows
      /// Planes, unless the original's colours need converting, which is known only after its profile has been read.
      case planesUnlessConverted
    }

    let requestIndex: Int
    let region: PixelRegion
    let eighths: Int
    let pipelineKind: PipelineKind
  }

  /// A shared plan for the first request and for those other requests that cost less in the same decode than alone
  /// (``DecodeCost``), at most ``SharedPlan/maximumMembers``. The decode uses the largest DCT scale that a member
  /// needs. Members are in the order of their requests.
  ///
  /// A small crop rarely shares a decode with the whole picture: without sharing it costs a third of a decode, and uses
  /// rows.
  ///
  /// - Parameters:
  ///   - requests: at least one.
  ///   - extras: optional pictures such as rungs of the ladder. They are added only if they fit the decode that the
  ///     requests need anyway. Their indexes continue after the requests: the first is `requests.count`.
  /// - Complexity: quadratic in the number of requests, of which at most ``maximumConsideredRequests`` are considered.
  package func sharedPlan(
    _ header: ImageHeader, _ requests: [SizedRequest], extras: [SizedRequest] = []
  ) -> SharedPlan {
    precondition(!requests.isEmpty)
    let file = header
    let header = preview(file, for: requests[0])
    // Another preview of a RAW file is another picture.
    func isShared(_ wanted: SizedRequest) -> Bool {
      file.raw == nil || preview(file, for: wanted).raw?.range == header.raw?.range
    }
    let cost = DecodeCost(header)
    func total(_ group: [Candidate]) -> Double {
      cost.total(
        group.map(\.region), eighths: group.map(\.eighths).max() ?? 8,
        inPlanes: group.allSatisfy { $0.pipelineKind != .rows })
    }
    var group = [candidate(header, requests[0], 0)]
    var others = requests.prefix(Self.maximumConsideredRequests).enumerated().dropFirst()
      .filter { isShared($1) }
      .map { candidate(header, $1, $0) }
      .filter { $0.pipelineKind == group[0].pipelineKind }
    // Repeatedly add the request that saves most: a large scale that is already needed makes the next request cheaper.
    while group.count < SharedPlan.maximumMembers {
      let current = total(group)
      let savings = others.map { current + total([$0]) - total(group + [$0]) }
      guard let best = savings.indices.max(by: { savings[$0] < savings[$1] }), savings[best] > 0 else { break }
      group.append(others.remove(at: best))
    }
    // A larger scale makes a JPEG's decode dearer. A worker decodes everything anyway, and costs ten times as much, so
    // it is never worth a second decode.
    let largest = header.format.needsWorker ? 8 : group.map(\.eighths).max() ?? 8
    for (i, extra) in extras.enumerated() where group.count < SharedPlan.maximumMembers && hasPixels(header, extra) {
      let extra = candidate(header, extra, requests.count + i)
      if extra.pipelineKind == group[0].pipelineKind && extra.eighths <= largest { group.append(extra) }
    }
    let eighths = group.map(\.eighths).max() ?? 8
    let all = requests + extras
    return SharedPlan(
      group.sorted { $0.requestIndex < $1.requestIndex }.map {
        SharedPlan.Member(
          requestIndex: $0.requestIndex, plan: plan(header, all[$0.requestIndex], eighths: eighths))
      })
  }

  /// Requests beyond this number are not considered.
  static let maximumConsideredRequests = 32

  private func candidate(_ header: ImageHeader, _ wanted: SizedRequest, _ index: Int) -> Candidate {
    let geometry = geometry(header, wanted, eighths: nil)
    var pipelineKind = Candidate.PipelineKind.rows
    if wanted.request.format == .jpeg && wanted.request.tone == .color
      && PlanePlanner.staysInPlanes(header, geometry)
    {
      pipelineKind = header.mayConvert(to: wanted.request.colorSpace) ? .planesUnlessConverted : .planes
    }
    return Candidate(
      requestIndex: index, region: geometry.region, eighths: geometry.eighths, pipelineKind: pipelineKind)
  }
}
