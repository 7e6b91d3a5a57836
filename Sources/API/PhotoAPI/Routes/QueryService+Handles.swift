import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel

// Parts that the routes of fetch results and of transient collections have in common.

extension QueryService {
  /// The handles of the principal, or of all owners if the principal sees all owners, in the order of their names.
  /// Renews no lease.
  func handles<Value>(in table: LeaseTable<Value>, _ principal: Principal) -> [(name: String, value: Value)] {
    results.expire()
    return table.values(of: principal.seesAllOwners ? nil : principal).sorted { $0.name < $1.name }
  }

  /// Deletes a handle of the principal, or of any owner if the principal sees all owners.
  ///
  /// - Parameter missing: thrown if there is no such handle.
  /// - Returns: a response with status 204.
  func deleteHandle<Value>(
    _ id: String, in table: LeaseTable<Value>, orThrow missing: Problem, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    guard table.end(id, owner: principal, includingOtherOwners: principal.seesAllOwners) else { throw missing }
    return HTTPResponse(204)
  }

  /// A JSON response that the client may keep, and revalidates by the entity tag of its body.
  ///
  /// - Parameter next: the URL of the next page.
  static func response(_ body: [UInt8], next: String? = nil, to request: HTTPRequest) -> HTTPResponse {
    JSONResponse(
      body, tag: EntityTag.strong(over: body), cacheControl: cacheControl, link: next.map { "<\($0)>; rel=\"next\"" }
    ).response(to: request.head)
  }
}
