// The catalog of objects on a page, for tests: there it is the same as in the worker.

import { CATALOG_CASES, entry } from '../../../packages/testing/worker/catalog.suite.ts';
import { IdbCatalog } from '../../../worker/objects/catalog/idb-catalog.ts';

const catalogs = { IdbCatalog, CATALOG_CASES, entry };

declare global {
  interface Window {
    catalogs: typeof catalogs;
  }
}

window.catalogs = catalogs;
