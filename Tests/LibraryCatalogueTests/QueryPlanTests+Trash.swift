import LibraryCatalogue
import PhotoModel
import Testing

extension QueryPlanTests {
  @Test("files in the trash are found by their paths along an index")
  func trashPaths() throws {
    let traced = Self.traced
    let catalogue = traced.library.catalogue
    let statements = try traced.statements {
      _ = try catalogue.isInTrash(Array(".photod-trash/a/b.jpg".utf8))
      _ = try catalogue.trashFiles(below: Array("disk".utf8))
    }.filter { $0.contains("trashFile") }
    #expect(statements.count == 2)
    for sql in statements {
      let steps = try traced.plan(of: sql).filter { $0.contains("trashFile") }
      #expect(steps.count == 1 && steps[0].contains("trashByTrashPath (trashPath"), "\(steps)")
    }
  }
}
