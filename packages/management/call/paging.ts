// Pages of lists: reads `page` and `per_page` of a query, and writes `result_info` of the answer.
//
// A page past the end is empty, so a client that reads pages until one is empty comes to an end.

import { type Answer, apiError, type Call, successAnswer } from './call.ts';

export interface ListPage {
  readonly number: number;
  readonly size: number;
}

export interface ListPageSizes {
  readonly defaultSize: number;
  readonly maxSize: number;
}

/** Reads the page and its size. @throws ApiError 400 if a parameter is not a positive integer, or exceeds its limit */
export function listPageOf(query: Call['query'], sizes: ListPageSizes): ListPage {
  return {
    number: positiveInteger('page', query.page, 1, Number.MAX_SAFE_INTEGER),
    size: positiveInteger('per_page', query.per_page, sizes.defaultSize, sizes.maxSize),
  };
}

export function listPageAnswer(items: readonly unknown[], total: number, page: ListPage): Answer {
  return successAnswer(items, {
    page: page.number,
    per_page: page.size,
    count: items.length,
    total_count: total,
    total_pages: Math.ceil(total / page.size),
  });
}

function positiveInteger(
  name: string,
  text: string | undefined,
  defaultValue: number,
  max: number,
): number {
  if (text === undefined) return defaultValue;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
  throw apiError('PAGE_INVALID', `${name} is "${text}"; it must be an integer from 1 to ${max}.`);
}
