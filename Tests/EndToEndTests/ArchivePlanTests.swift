import Primitives
import Testing
import ZipFormat

@testable import PhotoAPI

/// The plans of archives that are kept for resumed downloads.
@Suite("Plans of archives")
struct ArchivePlanTests {
  @Test("a plan that has expired gives its memory back, although no other archive is planned")
  func expiredPlans() throws {
    let budget = ByteBudget(capacityBytes: 1000)
    let plans = ArchivePlans(ArchiveLimits())
    for key in ["a", "b"] {
      let listing = ArchiveListing(reservation: try #require(budget.tryReserve(100)))
      let noEntries: [ZipLayout.Entry] = []
      plans.keep(
        ArchivePlan(
          ZipLayout(noEntries), listing, errors: [1, 2, 3], includesLocation: false, entityTag: "\"\(key)\"", key: key))
    }
    let now = ContinuousClock.now
    plans.expire(now: now)
    #expect(budget.bytesInUse == 200)
    let isKept = plans.plan("a") != nil
    #expect(isKept)
    plans.expire(now: now + ArchivePlans.lifetime)
    #expect(budget.bytesInUse == 0)
  }
}
