// Why a published number of a sequence that we have is not beside one of ours.
export function reason(row) {
  const { paper, table, variant, metric } = row;
  if (paper === 'HIS20' && table === 'B1') return 'the paper measures its guess for each vertex before the flat is fitted, which no command writes down';
  if (paper === 'HIS20' && table === 'B2' && variant !== 'flat-opt-10it,unconstrained,one-ring')
    return 'constrained guesses, Euclidean and geodesic neighbourhoods and no guess at all are no options here: the paper finds them worse';
  if (paper === 'HIS20' && table === '5' && (metric === 'iterations' || metric.startsWith('time')))
    return 'count and time of one step from true transforms; ours has no such step on its own';
  if (paper === 'HIS20' && metric !== 'E_RMS' && row.dataset === 'cube') return 'weights and transforms of the exact cube are not published';
  return 'not measured';
}
