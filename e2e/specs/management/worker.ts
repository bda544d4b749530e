// The worker of pages that run the emulated provider.

import { ManagementObject } from '../../../src/management/index.ts';
import { serve } from '../../../worker/start/entries/objects.ts';

const classes = { ManagementObject };
export type Classes = typeof classes;

serve(classes);
