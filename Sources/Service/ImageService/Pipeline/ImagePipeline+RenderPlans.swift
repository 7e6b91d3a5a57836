import ImageCodec
import ImageRender

extension ImagePipeline {
  /// The frames that one render may make for its own job. A class, because plans are large: see ``Boxed``.
  final class RenderPlans: Sendable {
    let final: RenderPlan
    /// From the original's coefficients; `nil` if that is no quicker than the final frame.
    let degraded: RenderPlan?
    /// The camera's embedded preview, if it is so large that it needs a memory reservation.
    let preview: EmbeddedThumbnail?
    /// Memory of the largest of these plans: they run one after the other.
    let peakBytes: Int

    convenience init(_ job: RenderJob, _ header: ImageHeader, preview: EmbeddedThumbnail?, _ planner: RenderPlanner) {
      self.init(
        job, header, final: planner.plan(header, job.wanted),
        degraded: planner.degradedPlan(header, job.degradedRequest), preview: preview)
    }

    init(
      _ job: RenderJob, _ header: ImageHeader, final: RenderPlan, degraded: RenderPlan?, preview: EmbeddedThumbnail?
    ) {
      self.final = final
      self.degraded = degraded
      self.preview = preview
      peakBytes = max(
        final.peakBytes, degraded?.peakBytes ?? 0, preview?.peakBytes(for: job.degradedRequest, of: header) ?? 0)
    }
  }
}
