// The worker of pages that run the emulated provider.

import { serve } from '../../../worker/start/entries/objects.ts';
import { ManagementObject } from '../index.ts';

const classes = { ManagementObject };
export type Classes = typeof classes;

serve(classes);
