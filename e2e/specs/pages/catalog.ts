// The catalog of objects on a page, for tests: there it is the same as in the worker.

import { IdbCatalog } from '../../../worker/objects/catalog/idb-catalog.ts';
import { CATALOG_CASES, entry } from '../../../worker/testing/catalog.suite.ts';

const catalogs = { IdbCatalog, CATALOG_CASES, entry };

declare global {
  interface Window {
    catalogs: typeof catalogs;
  }
}

window.catalogs = catalogs;
