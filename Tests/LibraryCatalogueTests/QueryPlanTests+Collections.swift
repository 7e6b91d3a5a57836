import LibraryCatalogue
import PhotoModel
import PhotoPredicate
import Testing

extension QueryPlanTests {
  @Test("collections that contain an asset are found from the asset; a limited caller reads only its own")
  func containing() throws {
    let traced = Self.traced
    let catalogue = traced.library.catalogue
    let asset = LocalIdentifier(traced.library.assets[2].identifier)
    for query in [CollectionQuery(type: .album, limit: 2), CollectionQuery(parent: .topLevel, limit: 2)] {
      var query = query
      query.containing = asset
      for caller in Viewer.allCases {
        let statements = try traced.statements {
          let found = try catalogue.collections(query, for: principal(caller)).collections
          #expect(found.count == 2)
        }
        let fromAsset = try statements.map { try traced.plan(of: $0) }.filter { plan in
          plan.contains { $0.hasSuffix("memberByAsset (asset=?)") }
        }
        #expect(fromAsset.isEmpty == (caller == .limited))
        for step in fromAsset.joined() {
          #expect(!step.hasSuffix("(library=?)") && !step.contains("collectionByParent"), "\(step)")
        }
      }
    }
  }

  @Test("moments by their start are read along the index up to the end of the page", arguments: Viewer.allCases)
  func momentsByStart(_ caller: Viewer) throws {
    let principal = principal(caller)
    let catalogue = Self.traced.library.catalogue
    for order in ["startDate", "-startDate", "-startDate,-localIdentifier"] {
      let sort = try FetchSortDescriptors(order, schema: .collection, principal: .local)
      var query = CollectionQuery(type: .moment, limit: 1)
      let statements = try Self.traced.statements {
        let page = try catalogue.collections(CollectionFetch(query, sort: sort), deadline: nil, for: principal)
        query.cursor = page.nextCursor
        _ = try catalogue.collections(CollectionFetch(query, sort: sort), deadline: nil, for: principal)
      }
      for sql in statements { try check(sql) }
      // One statement a page, and not one for each part of a whole list.
      #expect(statements.filter { $0.contains("FROM moment") }.count == 2)
    }
  }
}
