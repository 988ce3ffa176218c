print('rain')
